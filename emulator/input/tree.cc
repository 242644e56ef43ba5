#include "emulator/input/tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "base/input_file.h"
#include "base/utf8.h"

namespace rankwire {
namespace {

/// Gives the origin of a node from its mark.
class Locator {
 public:
  Locator(std::string file, std::filesystem::path folder) : file_(std::move(file)), folder_(std::move(folder)) {}
  explicit Locator(Origin fixed) : fixed_(std::move(fixed)) {}

  Origin operator()(const YAML::Mark& mark) const {
    if (fixed_) return *fixed_;
    return {fmt::format("{}:{}", file_, std::max(mark.line, 0) + 1), folder_};
  }

 private:
  std::string file_;
  std::filesystem::path folder_;
  std::optional<Origin> fixed_;
};

/// Makes a tree of what YAML has as a graph: whatever an alias stands for is there once more, and within it that of its
/// own aliases, which without a bound would take all memory for a few lines.
class TreeMaker {
 public:
  /// `text_size`: of the document, bytes, which has at most so many values of its own.
  TreeMaker(const Locator& locate, size_t text_size) : locate_(locate), left_(text_size + kMostAliased) {}

  Tree make(const YAML::Node& node, int depth = 0) {
    // An alias inside its own anchor is legal YAML and never ends.
    constexpr int kMaxDepth = 16;
    Tree tree;
    tree.origin = locate_(node.Mark());
    if (depth > kMaxDepth) fail_at(tree.origin, "is nested more than {} levels deep", kMaxDepth);
    take(node, tree.origin);
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        tree.kind = Tree::Kind::kScalar;
        tree.text = text_of(node, tree.origin);
        break;
      case YAML::NodeType::Sequence:
        tree.kind = Tree::Kind::kList;
        for (const auto& item : node) tree.items.push_back(make(item, depth + 1));
        break;
      case YAML::NodeType::Map:
        tree.kind = Tree::Kind::kMap;
        add_entries(node, depth, tree);
        break;
      case YAML::NodeType::Null:
      case YAML::NodeType::Undefined:
        break;
    }
    return tree;
  }

 private:
  static constexpr size_t kMostAliased = 200'000;

  /// A value costs one, and long texts as much as the values that they take the memory of.
  void take(const YAML::Node& node, const Origin& origin) {
    const size_t cost = 1 + (node.IsScalar() ? node.Scalar().size() / 64 : 0);
    if (cost > left_)
      fail_at(origin, "the aliases of this document stand for more than {} values; write out what is meant",
              kMostAliased);
    left_ -= cost;
  }

  /// YAML takes bytes that are no characters; what is written of a run does not.
  static const std::string& text_of(const YAML::Node& node, const Origin& origin) {
    if (!is_utf8(node.Scalar())) fail_at(origin, "is not in UTF-8: save it as that, or write it in ASCII");
    return node.Scalar();
  }

  void add_entries(const YAML::Node& node, int depth, Tree& tree) {
    for (const auto& pair : node) {
      const YAML::Node& key = pair.first;
      const Origin origin = locate_(key.Mark());
      if (!key.IsScalar()) fail_at(origin, "a key must be a single word");
      text_of(key, origin);
      if (tree.find(key.Scalar()) != nullptr) fail_at(origin, "key '{}' is written twice", key.Scalar());
      Tree value = make(pair.second, depth + 1);
      // The mark of a list is its first item, that of nothing the token that follows: the key says more.
      if (value.kind != Tree::Kind::kScalar) value.origin = origin;
      tree.entries.push_back({key.Scalar(), origin, std::move(value)});
    }
  }

  const Locator& locate_;
  size_t left_;
};

/// One step of a path: a key, or an index when `key` is empty.
struct Step {
  std::string_view key;
  size_t index = 0;
};

/// Nothing when `path` is not dotted keys and [indexes].
std::optional<std::vector<Step>> steps_of(std::string_view path) {
  std::vector<Step> steps;
  while (!path.empty()) {
    if (path.front() == '[') {
      const size_t close = path.find(']');
      if (close == std::string_view::npos || close < 2 || close > 6) return std::nullopt;
      Step step;
      for (char c : path.substr(1, close - 1)) {
        if (c < '0' || c > '9') return std::nullopt;
        step.index = step.index * 10 + static_cast<size_t>(c - '0');
      }
      steps.push_back(step);
      path.remove_prefix(close + 1);
    } else {
      if (!steps.empty()) {
        if (path.front() != '.') return std::nullopt;
        path.remove_prefix(1);
      }
      const size_t end = std::min(path.find_first_of(".["), path.size());
      if (end == 0) return std::nullopt;
      steps.push_back({path.substr(0, end), 0});
      path.remove_prefix(end);
    }
  }
  if (steps.empty() || steps.front().key.empty()) return std::nullopt;
  return steps;
}

Tree& descend(Tree& tree, const Step& step, const Origin& origin) {
  if (step.key.empty()) {
    if (tree.kind != Tree::Kind::kList) fail_at(origin, "[{}] follows what is not a list", step.index);
    if (step.index >= tree.items.size()) {
      fail_at(origin, "index {} is outside the list of {}", step.index, tree.items.size());
    }
    return tree.items[step.index];
  }
  if (tree.kind == Tree::Kind::kNull)
    tree = {.kind = Tree::Kind::kMap, .origin = origin, .text = {}, .items = {}, .entries = {}};
  if (tree.kind != Tree::Kind::kMap) fail_at(origin, "'{}' follows what has no keys", step.key);
  if (Tree* value = tree.find(step.key)) return *value;
  tree.entries.push_back({std::string(step.key), origin, Tree{}});
  return tree.entries.back().value;
}

/// Looks where documents begin, and at nothing else.
class DocumentStarts : public YAML::EventHandler {
 public:
  const YAML::Mark& last() const { return last_; }

  void OnDocumentStart(const YAML::Mark& mark) override { last_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark last_;
};

/// Where a second document begins. Not `YAML::LoadAll`, which does not end where a document begins with what cannot
/// begin one, such as a comma.
std::optional<YAML::Mark> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  if (!parser.HandleNextDocument(starts) || !parser.HandleNextDocument(starts)) return {};
  return starts.last();
}

/// Whether a tab is among what a line begins with: spaces and the dashes of lists.
bool is_indented_by_tab(const std::string& text, int line) {
  std::istringstream stream(text);
  std::string found;
  for (int i = 0; i <= line; ++i) {
    if (!std::getline(stream, found)) return false;
  }
  const size_t begin = std::min(found.find_first_not_of("\t -"), found.size());
  return found.find('\t') < begin;
}

}  // namespace

Tree* Tree::find(std::string_view key) {
  const auto entry = std::ranges::find(entries, key, &Entry::key);
  return entry == entries.end() ? nullptr : &entry->value;
}

const Tree* Tree::find(std::string_view key) const {
  return const_cast<Tree*>(this)->find(key);
}

void Tree::erase(std::string_view key) {
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
}

Tree read_yaml_file(const std::filesystem::path& file) {
  std::ifstream stream = open_input(file, "a YAML file");
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const Locator locate(file.string(), std::filesystem::absolute(file).parent_path());
  try {
    if (const auto second = second_document(text)) fail_at(locate(*second), "is a second document; a file holds one");
    const YAML::Node document = YAML::Load(text);
    if (document.IsNull()) fail_input("{}: is empty", file.string());
    Tree tree = TreeMaker(locate, text.size()).make(document);
    if (tree.kind != Tree::Kind::kMap) fail_at(tree.origin, "must be a map of keys");
    return tree;
  } catch (const YAML::Exception& error) {
    if (is_indented_by_tab(text, error.mark.line))
      fail_at(locate(error.mark), "a tab stands in the indentation; YAML takes spaces alone");
    fail_at(locate(error.mark), "is not YAML: {}", error.msg);
  }
}

Tree read_yaml_text(const std::string& text, const Origin& origin) {
  try {
    const Locator locate(origin);
    return TreeMaker(locate, text.size()).make(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    fail_at(origin, "the value is not YAML: {}", error.msg);
  }
}

void apply_setting(Tree& root, std::string_view setting) {
  // YAML would take a byte order mark of UTF-16 for what it says.
  if (!is_utf8(setting)) fail_input("--set: a key or its value is not in UTF-8");
  const Origin origin{fmt::format("--set {}", setting), std::filesystem::current_path()};
  const size_t equals = setting.find('=');
  if (equals == std::string_view::npos) fail_at(origin, "has no '='; write for example --set transport.window=32");
  const auto steps = steps_of(setting.substr(0, equals));
  if (!steps) fail_at(origin, "'{}' is not a key; write for example ports[1].rate", setting.substr(0, equals));
  if (setting.size() == equals + 1) fail_at(origin, "has no value; null removes the key");

  Tree* parent = &root;
  for (size_t i = 0; i + 1 < steps->size(); ++i) parent = &descend(*parent, (*steps)[i], origin);
  Tree& target = descend(*parent, steps->back(), origin);
  Tree value = read_yaml_text(std::string(setting.substr(equals + 1)), origin);
  if (value.kind == Tree::Kind::kNull && !steps->back().key.empty()) {
    parent->erase(steps->back().key);
  } else {
    target = std::move(value);
  }
}

std::string flow_text(const Tree& tree) {
  const auto quoted = [](const std::string& text) {
    const bool plain = !text.empty() && text.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_./%-+") == std::string::npos;
    if (plain) return text;
    std::string quotes = "'";
    for (const char c : text) quotes += c == '\'' ? std::string("''") : std::string(1, c);
    return quotes + "'";
  };
  std::vector<std::string> parts;
  switch (tree.kind) {
    case Tree::Kind::kNull:
      return "null";
    case Tree::Kind::kScalar:
      return quoted(tree.text);
    case Tree::Kind::kList:
      for (const Tree& item : tree.items) parts.push_back(flow_text(item));
      return fmt::format("[{}]", fmt::join(parts, ", "));
    case Tree::Kind::kMap:
      for (const Tree::Entry& entry : tree.entries)
        parts.push_back(fmt::format("{}: {}", quoted(entry.key), flow_text(entry.value)));
      return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  return {};
}

const Tree& nearest(const Tree& root, std::string_view path) {
  const Tree* node = &root;
  const auto steps = steps_of(path);
  if (!steps) return root;
  for (const Step& step : *steps) {
    const Tree* next = nullptr;
    if (!step.key.empty()) {
      next = node->find(step.key);
    } else if (step.index < node->items.size()) {
      next = &node->items[step.index];
    }
    if (next == nullptr) break;
    node = next;
  }
  return *node;
}

}  // namespace rankwire
