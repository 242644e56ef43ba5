#include "emulator/cli/shrink_config.h"

#include <fmt/format.h>

namespace rankwire {
namespace {

namespace fs = std::filesystem;

void make_absolute(Tree& tree) {
  for (Tree& item : tree.items) make_absolute(item);
  for (Tree::Entry& entry : tree.entries) make_absolute(entry.value);
  const bool may_be_file = tree.kind == Tree::Kind::kScalar && !tree.text.empty() && fs::path(tree.text).is_relative();
  std::error_code ignored;
  if (may_be_file && fs::exists(tree.origin.folder / tree.text, ignored))
    tree.text = fs::absolute(tree.origin.folder / tree.text).lexically_normal().string();
}

size_t count_keys(const Tree& tree) {
  if (tree.kind != Tree::Kind::kMap) return 1;
  size_t keys = 0;
  for (const Tree::Entry& entry : tree.entries) keys += count_keys(entry.value);
  return keys;
}

/// What stays of `tree`, whose keys are numbered from `next` on; nothing of it may.
Tree part_of(const Tree& tree, const std::vector<bool>& stays, size_t& next) {
  Tree part{.kind = Tree::Kind::kMap, .origin = tree.origin};
  for (const Tree::Entry& entry : tree.entries) {
    if (entry.value.kind != Tree::Kind::kMap) {
      if (stays[next++]) part.entries.push_back(entry);
      continue;
    }
    Tree section = part_of(entry.value, stays, next);
    if (!section.entries.empty()) part.entries.push_back({entry.key, entry.origin, std::move(section)});
  }
  return part;
}

}  // namespace

ShrinkConfig::ShrinkConfig(const fs::path& file) {
  if (file.empty()) return;
  root_ = read_yaml_file(file);
  if (const Tree* jobs = root_.find("jobs")) fail_at(jobs->origin, "jobs: a shrunk configuration has one job alone");
  if (Tree* workload = root_.find("workload")) {
    if (const Tree* made = workload->find("generate")) {
      fail_at(made->origin, "workload.generate: write the traces first, by rankwire trace generate, and name them");
    }
    workload->erase("traces");
    workload->erase("groups");
  }
  make_absolute(root_);
  keys_ = count_keys(root_);
}

std::string ShrinkConfig::text(const std::vector<bool>& stays, const std::string& prefix) const {
  size_t next = 0;
  Tree part = part_of(root_, stays, next);
  if (part.find("workload") == nullptr) part.entries.push_back({"workload", {}, Tree{.kind = Tree::Kind::kMap}});
  Tree* workload = part.find("workload");
  workload->entries.insert(workload->entries.begin(),
                           {"traces", {}, Tree{.kind = Tree::Kind::kScalar, .text = prefix}});
  std::string text;
  for (const Tree::Entry& entry : part.entries) text += fmt::format("{}: {}\n", entry.key, flow_text(entry.value));
  return text;
}

}  // namespace rankwire
