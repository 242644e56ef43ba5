// Prints a configuration and lists its keys: two more visitors of schema.h.
#include "emulator/input/schema.h"

namespace rankwire {
namespace {

class Printer {
 public:
  explicit Printer(ConfigJson& object) : object_(object) { object_ = ConfigJson::object(); }

  template <class T, class Syntax>
  void field(const char* key, const T& value, const Syntax& syntax) {
    object_[key] = syntax.print(value);
  }

  template <class T, class Syntax>
  void list(const char* key, const std::vector<T>& values, const Syntax& syntax) {
    ConfigJson& array = object_[key] = ConfigJson::array();
    for (const T& value : values) array.push_back(syntax.print(value));
  }

  template <class Describe>
  void section(const char* key, Describe describe) {
    Printer keys(object_[key]);
    describe(keys);
  }

  template <class T, class Describe>
  void optional_section(const char* key, std::optional<T>& value, Describe describe) {
    if (value) section(key, [&](Printer& keys) { describe(keys, *value); });
  }

  template <class T, class Describe>
  void items(const char* key, std::vector<T>& values, Describe describe) {
    ConfigJson& array = object_[key] = ConfigJson::array();
    for (T& value : values) {
      Printer keys(array.emplace_back());
      describe(keys, value);
    }
  }

  template <class Describe>
  void section_unless(bool absent, const char* key, Describe describe) {
    if (!absent) section(key, describe);
  }
  template <class T, class Describe>
  void optional_items(const char* key, std::vector<T>& values, Describe describe) {
    if (!values.empty()) items(key, values, describe);
  }
  template <class Describe>
  void section_like(const char* key, Describe describe) {
    section(key, describe);
  }
  template <class T, class Describe>
  void optional_section_like(const char* key, std::optional<T>& value, Describe describe) {
    optional_section(key, value, describe);
  }

  void texts(const char* key, const std::map<std::string, std::string>& values) { object_[key] = values; }

 private:
  ConfigJson& object_;
};

class KeyLister {
 public:
  KeyLister(std::vector<std::string>& keys, std::string prefix) : keys_(keys), prefix_(std::move(prefix)) {}

  template <class T, class Syntax>
  void field(const char* key, const T&, const Syntax&) {
    keys_.push_back(prefix_ + key);
  }

  template <class T, class Syntax>
  void list(const char* key, const std::vector<T>&, const Syntax&) {
    keys_.push_back(prefix_ + key);
  }

  template <class Describe>
  void section(const char* key, Describe describe) {
    KeyLister keys(keys_, prefix_ + key + ".");
    describe(keys);
  }

  template <class T, class Describe>
  void optional_section(const char* key, const std::optional<T>&, Describe describe) {
    T value;
    section(key, [&](KeyLister& keys) { describe(keys, value); });
  }

  template <class T, class Describe>
  void items(const char* key, const std::vector<T>&, Describe describe) {
    T item;
    KeyLister keys(keys_, prefix_ + key + "[].");
    describe(keys, item);
  }

  template <class Describe>
  void section_unless(bool, const char* key, Describe describe) {
    section(key, describe);
  }
  template <class T, class Describe>
  void optional_items(const char* key, const std::vector<T>& values, Describe describe) {
    items(key, values, describe);
  }
  /// Its keys are listed where they stand first.
  template <class Describe>
  void section_like(const char* key, Describe) {
    keys_.push_back(prefix_ + key + ".*");
  }
  template <class T, class Describe>
  void optional_section_like(const char* key, const std::optional<T>&, Describe describe) {
    section_like(key, describe);
  }

  void texts(const char* key, const std::map<std::string, std::string>&) { keys_.push_back(prefix_ + key + ".*"); }

 private:
  std::vector<std::string>& keys_;
  std::string prefix_;
};

}  // namespace

std::string resolved_json(const RunConfig& config) {
  RunConfig copy = config;  // one description serves readers, which write, and printers
  ConfigJson root;
  Printer printer(root);
  describe_config(printer, copy);
  return root.dump(2);
}

std::vector<std::string> configuration_keys() {
  std::vector<std::string> keys;
  RunConfig config;
  KeyLister lister(keys, "");
  describe_config(lister, config);
  keys.push_back("ports[].count");
  keys.push_back("ports.count");
  return keys;
}

}  // namespace rankwire
