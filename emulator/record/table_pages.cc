#include "emulator/record/table_pages.h"

#include <algorithm>
#include <type_traits>

#include "emulator/record/database.h"

namespace rankwire {
namespace {

constexpr uint32_t kDeepest = 20;    // of a tree with 2^32 pages
constexpr size_t kAtOnce = 1 << 17;  // what a core keeps near

template <size_t N>
uint64_t big_endian(std::span<const uint8_t, N> bytes) noexcept {
  uint64_t value = 0;
  for (const uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

/// The number at `offset`, which moves behind it: seven bits a byte, the first ones highest, eight in a ninth. `offset`
/// is behind the bytes where they end before it does.
uint64_t take_varint(std::span<const uint8_t> bytes, size_t& offset) noexcept {
  uint64_t value = 0;
  for (int i = 0; i < 9; ++i) {
    if (offset >= bytes.size()) {
      offset = bytes.size() + 1;
      return 0;
    }
    const uint8_t byte = bytes[offset++];
    if (i == 8) return value << 8 | byte;
    value = value << 7 | (byte & 0x7f);
    if (byte < 0x80) break;
  }
  return value;
}

/// Of a value of the serial type.
uint64_t bytes_of(uint64_t type) noexcept {
  constexpr uint8_t kOfNumbers[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return type < 12 ? kOfNumbers[type] : (type - 12) / 2;
}

}  // namespace

bool PageRow::parse(std::span<const uint8_t> payload) noexcept {
  payload_ = payload, columns_ = 0;
  size_t place = 0;
  const uint64_t header = take_varint(payload, place);
  if (header > payload.size()) return false;
  for (size_t offset = header; place < header && columns_ < kMostColumns; ++columns_) {
    const uint64_t type = take_varint(payload.first(header), place);
    const uint64_t bytes = bytes_of(type);
    if (place > header || bytes > payload.size() - offset) return false;
    types_[columns_] = type, offsets_[columns_] = offset;
    offset += bytes;
  }
  return true;
}

std::optional<int64_t> PageRow::optional_integer(size_t column) const noexcept {
  if (column >= columns_) return std::nullopt;
  const uint64_t type = types_[column];
  if (type == 8 || type == 9) return static_cast<int64_t>(type - 8);
  if (type == 0 || type > 6) return std::nullopt;
  const uint8_t* const bytes = payload_.data() + offsets_[column];
  const auto number = [bytes]<size_t N>(std::integral_constant<size_t, N>) {
    return static_cast<int64_t>(big_endian(std::span<const uint8_t, N>(bytes, N)) << (64 - 8 * N)) >> (64 - 8 * N);
  };
  switch (bytes_of(type)) {
    case 1:
      return number(std::integral_constant<size_t, 1>());
    case 2:
      return number(std::integral_constant<size_t, 2>());
    case 3:
      return number(std::integral_constant<size_t, 3>());
    case 4:
      return number(std::integral_constant<size_t, 4>());
    case 6:
      return number(std::integral_constant<size_t, 6>());
    default:
      return number(std::integral_constant<size_t, 8>());
  }
}

std::string_view PageRow::text(size_t column) const noexcept {
  if (column >= columns_ || types_[column] < 13 || types_[column] % 2 == 0) return {};
  const std::span<const uint8_t> bytes = payload_.subspan(offsets_[column], bytes_of(types_[column]));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Its pages, by a connection whose read transaction lasts as long. A page is valid until the next one is asked for.
class TablePages::File {
 public:
  /// `at_once`: bytes that are read together, where pages follow one another.
  File(const std::filesystem::path& file, size_t at_once)
      : name_(file.string()), database_(file, Database::Access::kRead) {
    database_.execute("BEGIN");
    pages_ = static_cast<uint64_t>(database_.integer("PRAGMA page_count"));
    page_bytes_ = static_cast<size_t>(database_.integer("PRAGMA page_size"));
    window_.resize(std::max(page_bytes_, at_once / page_bytes_ * page_bytes_));
    constexpr uint64_t kUnusedOfPages = 20;
    uint8_t unused = 0;
    database_.read(kUnusedOfPages, {&unused, 1});
    if (unused >= page_bytes_) damaged(1);
    usable_ = page_bytes_ - unused;
  }

  const Database& database() const { return database_; }
  uint64_t pages() const { return pages_; }
  size_t usable_bytes() const { return usable_; }
  [[noreturn]] void damaged(uint64_t page) const { fail_input("{}: page {} is damaged", name_, page); }

  /// Counted from 1.
  std::span<const uint8_t> page(uint64_t number) {
    if (number == 0 || number > pages_) damaged(number);
    const uint64_t offset = (number - 1) * page_bytes_;
    if (offset < begin_ || offset >= end_) {
      begin_ = offset / window_.size() * window_.size();
      end_ = std::min(pages_ * page_bytes_, begin_ + window_.size());
      database_.read(begin_, std::span(window_).first(end_ - begin_));
    }
    return std::span(window_).subspan(offset - begin_, usable_);
  }

 private:
  std::string name_;
  Database database_;
  uint64_t pages_ = 0;
  size_t page_bytes_ = 0, usable_ = 0;
  std::vector<uint8_t> window_;
  uint64_t begin_ = 0, end_ = 0;  // of what is in it, in the file
};

/// A page of the tree of a table, with rowid or without, or a leaf of it.
class TablePages::Page {
 public:
  Page(File& file, uint32_t number) : file_(file), number_(number), bytes_(file.page(number)) {
    type_ = bytes_[0];
    if (type_ != 2 && type_ != 5 && type_ != 10 && type_ != 13) file.damaged(number);
    cells_ = static_cast<uint32_t>(big_endian(bytes_.subspan(3, 2)));
    if (header_bytes() + 2 * size_t{cells_} > bytes_.size()) file.damaged(number);
  }

  bool is_leaf() const { return type_ >= 8; }
  /// Of a table with rowid, all of whose rows stand in leaves.
  bool has_rowids() const { return type_ == 5 || type_ == 13; }
  uint32_t cells() const { return cells_; }
  /// What stands before the cell, and behind the last one.
  uint32_t child(uint32_t cell) const {
    if (cell == cells_) return static_cast<uint32_t>(big_endian(bytes_.subspan(8, 4)));
    return static_cast<uint32_t>(big_endian(this->cell(cell, 4).first(4)));
  }
  /// From the number of bytes of its row on.
  std::span<const uint8_t> row(uint32_t cell) const {
    const size_t behind = is_leaf() ? 0 : 4;
    return this->cell(cell, behind + 1).subspan(behind);
  }

 private:
  size_t header_bytes() const { return is_leaf() ? 8 : 12; }
  std::span<const uint8_t> cell(uint32_t cell, size_t least) const {
    const size_t offset = big_endian(bytes_.subspan(header_bytes() + 2 * size_t{cell}, 2));
    if (offset + least > bytes_.size()) file_.damaged(number_);
    return bytes_.subspan(offset);
  }

  const File& file_;
  const uint32_t number_;
  const std::span<const uint8_t> bytes_;
  uint8_t type_ = 0;
  uint32_t cells_ = 0;
};

/// The bytes of a row, of which a page has the first, and others the rest where there are many.
class TablePages::Payload {
 public:
  explicit Payload(const std::filesystem::path& file) : further_(file, 0) {}

  /// Valid until the next call, and as long as the page is.
  std::span<const uint8_t> of(const Page& page, uint32_t number, uint32_t cell) {
    const std::span<const uint8_t> bytes = page.row(cell);
    size_t offset = 0;
    const uint64_t wanted = take_varint(bytes, offset);
    if (page.has_rowids()) take_varint(bytes, offset);
    if (wanted > further_.pages() * further_.usable_bytes()) further_.damaged(number);
    const uint64_t here = bytes_here(page, wanted);
    if (offset + here + (here < wanted ? 4 : 0) > bytes.size()) further_.damaged(number);
    if (here == wanted) return bytes.subspan(offset, here);
    const std::span<const uint8_t> first = bytes.subspan(offset, here);
    whole_.assign(first.begin(), first.end());
    uint64_t next = big_endian(bytes.subspan(offset + here, 4));
    while (whole_.size() < wanted) {
      const std::span<const uint8_t> part = further_.page(next);
      next = big_endian(part.first(4));
      const std::span<const uint8_t> more = part.subspan(4, std::min(part.size() - 4, wanted - whole_.size()));
      whole_.insert(whole_.end(), more.begin(), more.end());
    }
    return whole_;
  }

 private:
  uint64_t bytes_here(const Page& page, uint64_t wanted) const {
    const uint64_t usable = further_.usable_bytes();
    const uint64_t most = page.has_rowids() ? usable - 35 : (usable - 12) * 64 / 255 - 23;
    if (wanted <= most) return wanted;
    const uint64_t least = (usable - 12) * 32 / 255 - 23;
    const uint64_t even = least + (wanted - least) % (usable - 4);
    return even <= most ? even : least;
  }

  File further_;
  std::vector<uint8_t> whole_;
};

std::optional<TablePages> TablePages::open(const std::filesystem::path& file, const std::string& table) {
  File opened(file, 0);
  Statement mode = opened.database().prepare("PRAGMA journal_mode");
  if (!mode.step() || mode.text_view(0) == "wal") return std::nullopt;
  Statement root = opened.database().prepare("SELECT rootpage FROM sqlite_master WHERE type='table' AND name=?");
  root.bind(table);
  if (!root.step()) fail_input("{}: no table {}", file.string(), table);
  TablePages pages;
  pages.file_ = file;
  const auto first = static_cast<uint32_t>(root.integer(0));
  const bool has_rowids = Page(opened, first).has_rowids();
  // Without rowid the columns of the key come first.
  Statement columns = opened.database().prepare(
      fmt::format("SELECT name FROM pragma_table_info(?) ORDER BY {} cid", has_rowids ? "" : "pk=0, pk,"));
  for (columns.bind(table); columns.step();) pages.columns_.push_back(columns.text(0));
  pages.collect(opened, first, 0);
  return pages;
}

std::optional<size_t> TablePages::column(std::string_view name) const {
  const auto place = std::ranges::find(columns_, name);
  if (place == columns_.end()) return std::nullopt;
  return static_cast<size_t>(place - columns_.begin());
}

// All leaves are equally deep, so that one page above them says of all of its children what they are.
void TablePages::collect(File& file, uint32_t number, uint32_t depth) {
  if (depth > kDeepest) file.damaged(number);
  std::vector<uint32_t> children;
  bool has_rowids = false;
  {
    const Page page(file, number);
    if (page.is_leaf()) {
      parts_.push_back({number});
      return;
    }
    has_rowids = page.has_rowids();
    for (uint32_t cell = 0; cell <= page.cells(); ++cell) children.push_back(page.child(cell));
  }
  const bool above_leaves = Page(file, children.front()).is_leaf();
  for (uint32_t cell = 0; cell < children.size(); ++cell) {
    if (above_leaves) {
      parts_.push_back({children[cell]});
    } else {
      collect(file, children[cell], depth + 1);
    }
    if (!has_rowids && cell + 1 < children.size()) parts_.push_back({number, cell});
    if (parts_.size() > 2 * file.pages()) file.damaged(number);  // one that is in two places
  }
}

void TablePages::for_each_row(size_t first, size_t last, const std::function<void(const PageRow&)>& visit) const {
  File file(file_, kAtOnce);
  Payload payload(file_);
  PageRow row;
  for (size_t i = first; i < last; ++i) {
    const auto& [number, only] = parts_[i];
    const Page page(file, number);
    const uint32_t begin = only.value_or(0), end = only ? *only + 1 : page.cells();
    if (end > page.cells() || (!only && !page.is_leaf())) file.damaged(number);
    for (uint32_t cell = begin; cell < end; ++cell) {
      if (!row.parse(payload.of(page, number, cell))) file.damaged(number);
      visit(row);
    }
  }
}

}  // namespace rankwire
