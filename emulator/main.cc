#include "emulator/cli/commands.h"

int main(int argc, char** argv) {
  return rankwire::rankwire_main(argc, argv);
}
