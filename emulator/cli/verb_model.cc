#include "emulator/cli/verb_model.h"

#include <algorithm>
#include <sstream>

namespace rankwire {
namespace {

OptionModel option_model(const CLI::Option& option) {
  OptionModel model{.names = {}, .description = option.get_description(), .value = {}, .choices = {}};
  model.is_required = option.get_required();
  for (const std::string& name : option.get_snames()) model.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) model.names.push_back("--" + name);
  model.is_positional = model.names.empty();
  if (model.is_positional) model.names.push_back(option.get_name());
  if (option.get_items_expected_max() == 0 || option.get_expected_min() == 0) return model;
  model.value = option.get_type_name();
  // "TEXT:{plain,nccl}"
  const size_t open = model.value.find('{'), close = model.value.find('}');
  if (open == std::string::npos || close == std::string::npos) {
    // "UINT:INT in [1 - 1024]"
    model.value.resize(std::min(model.value.find(':'), model.value.size()));
    return model;
  }
  std::istringstream words(model.value.substr(open + 1, close - open - 1));
  for (std::string word; std::getline(words, word, ',');) model.choices.push_back(word);
  model.value = model.value.substr(open, close - open + 1);
  return model;
}

VerbModel model_of(const CLI::App& app, const std::string& name) {
  VerbModel model{name, app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options()) model.options.push_back(option_model(*option));
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    model.verbs.push_back(model_of(*verb, name.empty() ? verb->get_name() : name + " " + verb->get_name()));
  return model;
}

}  // namespace

VerbModel verb_model(const CLI::App& app) {
  return model_of(app, "");
}

}  // namespace rankwire
