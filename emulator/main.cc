#include "emulator/cli/command_line.h"

int main(int argc, char** argv) {
  return rankwire::rankwire_main(argc, argv);
}
