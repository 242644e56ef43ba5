// The names of a trace's nodes, which repeat.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

namespace rankwire {

/// Owns texts. Views of them are valid as long as the object, or the one that it has been moved to.
class Names {
 public:
  Names() = default;
  Names(Names&&) noexcept = default;
  Names& operator=(Names&&) noexcept = default;

  std::string_view add(std::string_view name);
  /// Owns the other's texts as well, of which views stay valid.
  void adopt(Names other) {
    blocks_.insert(blocks_.begin(), std::make_move_iterator(other.blocks_.begin()),
                   std::make_move_iterator(other.blocks_.end()));
  }

 private:
  void add_block(size_t least);

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;  ///< in the last block
  size_t left_ = 0;       ///< bytes there
  size_t block_ = 0;      ///< size of the last block
};

/// Adds names to Names, once where one has been met lately.
class NameKeeper {
 public:
  /// `names` outlives the keeper.
  explicit NameKeeper(Names& names) : names_(names), recent_(size_t{1} << kBits) {}

  std::string_view keep(std::string_view name) {
    std::string_view& known = recent_[place(name)];
    if (known != name) known = names_.add(name);
    return known;
  }

 private:
  static constexpr unsigned kBits = 10;

  static size_t place(std::string_view name) noexcept;

  Names& names_;
  std::vector<std::string_view> recent_;  ///< by hash
};

}  // namespace rankwire
