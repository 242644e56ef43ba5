#include "base/input_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "base/error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

/// What is said of it; empty where it can be read.
std::string error_of(const fs::path& file) {
  try {
    open_input(file, "a table");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return {};
}

std::string first_line(const fs::path& file) {
  std::ifstream stream = open_input(file, "a table");
  std::string line;
  std::getline(stream, line);
  return line;
}

TEST(InputFile, IsReadAndMayBeALink) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "one\ntwo\n";
  fs::create_symlink("file", folder / "link");
  EXPECT_EQ(first_line(folder / "file"), "one");
  EXPECT_EQ(first_line(folder / "link"), "one");
}

TEST(InputFile, TellsWhyThereIsNone) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of(folder / "absent"), (folder / "absent").string() + ": cannot be read: No such file or directory");
}

TEST(InputFile, IsNoDirectoryAndNoDevice) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of(folder.path()), folder.path().string() + ": is a directory, not a table");
  EXPECT_EQ(error_of("/dev/zero"), "/dev/zero: is a device, not a table");
  EXPECT_EQ(error_of("/dev/null"), "");
}

// Nobody writes into it: whoever opened it to read would wait for ever.
TEST(InputFile, IsNoNamedPipeAndNoSocket) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of(folder / "pipe"), (folder / "pipe").string() + ": is a named pipe, not a table");

  sockaddr_un address{.sun_family = AF_UNIX};
  const std::string name = (folder / "socket").string();
  ASSERT_LT(name.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(error_of(name), name + ": is a socket, not a table");
  ::close(socket);
}

// As a shell passes on `<(command)`.
TEST(InputFile, MayBeAPipeThatIsOpen) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "one\n", 4), 4);
  ::close(ends[1]);
  EXPECT_EQ(first_line(fmt::format("/dev/fd/{}", ends[0])), "one");
  ::close(ends[0]);
}

}  // namespace
}  // namespace rankwire
