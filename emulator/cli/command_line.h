// The command line as a whole.
#pragma once

namespace rankwire {

/// Parses the command line and runs the verb; errors are printed on one line.
int rankwire_main(int argc, char** argv);

}  // namespace rankwire
