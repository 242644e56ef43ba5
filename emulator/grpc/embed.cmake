# Writes OUT, the source of model_descriptor() in emulator/grpc/model.h, with the bytes of the file DESCRIPTOR.
#   cmake -DOUT=model_descriptor.cc -DDESCRIPTOR=model.pb -P embed.cmake
cmake_minimum_required(VERSION 3.25)

file(READ ${DESCRIPTOR} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "#include \"emulator/grpc/model.h\"

namespace rankwire {

std::string_view model_descriptor() {
  static constexpr unsigned char kBytes[] = {${bytes}};
  return {reinterpret_cast<const char*>(kBytes), sizeof kBytes};
}

}  // namespace rankwire
")
