// Published models in configurations.
#pragma once

#include <string>

#include "emulator/input/syntax.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// The name of a published model, whose dimensions stand for absent keys; "none" is the empty text.
struct PublishedName {
  std::string parse(const Tree& scalar) const;
  ConfigJson print(const std::string& value) const { return value.empty() ? "none" : value; }
};

/// Writes the dimensions of the published model that the key `model` names to where `generate`, the map of a workload
/// description, has no key of its own for them; they stand where `model` does. Nothing for a name that is unknown,
/// which whoever reads the key refuses.
void expand_preset(Tree& generate);

}  // namespace rankwire
