#include "emulator/input/study_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <span>
#include <string_view>

#include "emulator/input/nearest_key.h"

namespace rankwire {
namespace {

/// What a study, a figure, a group and a point may each say, and hand down.
struct Inherited {
  std::filesystem::path config;  ///< empty until one is named
  std::vector<std::string> settings;
};

const std::string& required_text(const Tree& value, std::string_view key) {
  if (value.kind != Tree::Kind::kScalar || value.text.empty()) fail_at(value.origin, "{}: a text is expected", key);
  return value.text;
}

/// A map with no keys but these.
void check_keys(const Tree& map, std::string_view what, std::initializer_list<std::string_view> keys) {
  if (map.kind != Tree::Kind::kMap) fail_at(map.origin, "{}: 'key: value' lines are expected", what);
  for (const Tree::Entry& entry : map.entries) {
    if (std::ranges::find(keys, entry.key) == keys.end())
      fail_unknown_key(entry.origin, "", entry.key, std::span(keys.begin(), keys.size()));
  }
}

const Tree& required(const Tree& map, std::string_view what, std::string_view key) {
  const Tree* value = map.find(key);
  if (value == nullptr) fail_at(map.origin, "{} needs the key '{}'", what, key);
  return *value;
}

std::string required_text(const Tree& map, std::string_view what, std::string_view key) {
  return required_text(required(map, what, key), key);
}

const std::vector<Tree>& list_of(const Tree& map, std::string_view what, std::string_view key) {
  const Tree& value = required(map, what, key);
  if (value.kind != Tree::Kind::kList || value.items.empty())
    fail_at(value.origin, "{}: a list of at least one is expected", key);
  return value.items;
}

void add_settings(const Tree& map, Inherited& inherited) {
  if (map.kind == Tree::Kind::kList) {
    for (const Tree& item : map.items) add_settings(item, inherited);
    return;
  }
  if (map.kind != Tree::Kind::kMap)
    fail_at(map.origin, "set: 'key: value' lines, or a list of such maps, are expected");
  for (const Tree::Entry& entry : map.entries)
    inherited.settings.push_back(fmt::format("{}={}", entry.key, flow_text(entry.value)));
}

Inherited inherit(Inherited from, const Tree& map) {
  if (const Tree* config = map.find("config"); config != nullptr)
    from.config = (config->origin.folder / required_text(*config, "config")).lexically_normal();
  if (const Tree* set = map.find("set"); set != nullptr) add_settings(*set, from);
  return from;
}

StudyPoint read_point(const Tree& tree, const Inherited& from) {
  check_keys(tree, "a point", {"label", "config", "set"});
  const Inherited all = inherit(from, tree);
  if (all.config.empty()) fail_at(tree.origin, "the point has no 'config', nor has its group, its figure or the study");
  return {required_text(tree, "a point", "label"), all.config, all.settings, tree.origin};
}

template <class Labelled>
void check_label(const std::vector<Labelled>& others, const Labelled& added, const Origin& origin) {
  const bool again = std::ranges::any_of(others, [&](const Labelled& other) { return other.label == added.label; });
  if (again) fail_at(origin, "there are two labels '{}'", added.label);
}

StudyGroup read_group(const Tree& tree, const Tree& figure, const Inherited& from) {
  check_keys(tree, "a group", {"label", "config", "set", "points"});
  const Inherited all = inherit(from, tree);
  StudyGroup group{required_text(tree, "a group", "label"), {}};
  const bool own = tree.find("points") != nullptr;
  for (const Tree& point : list_of(own ? tree : figure, own ? "a group" : "a figure", "points")) {
    StudyPoint read = read_point(point, all);
    check_label(group.points, read, point.origin);
    group.points.push_back(std::move(read));
  }
  return group;
}

FigureForm form_of(const Tree& figure) {
  const Tree* form = figure.find("form");
  if (form == nullptr || form->text == "bars") return FigureForm::kBars;
  if (form->text != "lines") fail_at(form->origin, "form: '{}' is not one of bars, lines", form->text);
  return FigureForm::kLines;
}

StudyFigure read_figure(const Tree& tree, const Inherited& from) {
  check_keys(tree, "a figure", {"name", "title", "form", "axes", "config", "set", "points", "groups"});
  StudyFigure figure{.name = required_text(tree, "a figure", "name"),
                     .title = required_text(tree, "a figure", "title"),
                     .form = form_of(tree)};
  const std::vector<Tree>& axes = list_of(tree, "a figure", "axes");
  if (axes.size() != 2)
    fail_at(tree.find("axes")->origin, "axes: two texts are expected, what groups and what points are");
  figure.groups_are = required_text(axes[0], "axes");
  figure.points_are = required_text(axes[1], "axes");
  const Inherited all = inherit(from, tree);
  for (const Tree& group : list_of(tree, "a figure", "groups")) {
    StudyGroup read = read_group(group, tree, all);
    check_label(figure.groups, read, group.origin);
    figure.groups.push_back(std::move(read));
  }
  return figure;
}

}  // namespace

StudyFile read_study_file(const std::filesystem::path& file) {
  const Tree root = read_yaml_file(file);
  check_keys(root, "a study", {"name", "title", "definitions", "config", "set", "figures"});
  StudyFile study{required_text(root, "a study", "name"), required_text(root, "a study", "title"), {}};
  const Inherited all = inherit({}, root);
  std::set<std::string> names;
  for (const Tree& figure : list_of(root, "a study", "figures")) {
    study.figures.push_back(read_figure(figure, all));
    if (!names.insert(study.figures.back().name).second)
      fail_at(figure.origin, "there are two figures '{}'", study.figures.back().name);
  }
  return study;
}

}  // namespace rankwire
