// `rankwire.1`, in the macros of man(7).
#include <fmt/format.h>

#include <string_view>

#include "emulator/cli/completion.h"

namespace rankwire {
namespace {

/// Text that troff prints as it is: no escapes, no requests at a line's begin, and hyphens that are minus signs, which
/// can be copied.
std::string troff(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    begins_line = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string option_text(const OptionModel& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += fmt::format("{}{}{}\\fR", names.empty() ? "" : ", ", option.is_positional ? "\\fI" : "\\fB", troff(name));
  if (!option.is_positional && !option.value.empty()) names += fmt::format(" \\fI{}\\fR", troff(option.value));
  return fmt::format(".TP\n{}\n{}\n", names, troff(option.description.empty() ? "see above" : option.description));
}

std::string synopsis(const VerbModel& verb) {
  std::string text = fmt::format("\\fBrankwire {}\\fR", troff(verb.name));
  if (!verb.verbs.empty()) return text + " \\fIVERB\\fR";
  for (const OptionModel& option : verb.options)
    if (option.is_positional)
      text += fmt::format(" {}\\fI{}\\fR{}", option.is_required ? "" : "[", troff(option.names[0]),
                          option.is_required ? "" : "]");
  return text + " [\\fIOPTIONS\\fR]";
}

std::string verb_text(const VerbModel& verb) {
  std::string text = fmt::format(".SS {}\n{}\n.PP\n{}.\n", troff(verb.name), synopsis(verb), troff(verb.description));
  for (const OptionModel& option : verb.options) text += option_text(option);
  if (!verb.footer.empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", troff(verb.footer));
  for (const VerbModel& inner : verb.verbs) text += verb_text(inner);
  return text;
}

}  // namespace

std::string manual_page(const VerbModel& program, const std::string& version) {
  std::string text = fmt::format(
      ".TH RANKWIRE 1 \"\" \"rankwire {}\" \"User Commands\"\n.SH NAME\nrankwire \\- the network traffic of AI jobs on "
      "real wires\n.SH SYNOPSIS\n\\fBrankwire\\fR \\fIVERB\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n{}\n.SH OPTIONS\n",
      troff(version), troff(program.description));
  for (const OptionModel& option : program.options) text += option_text(option);
  text += ".SH VERBS\n";
  for (const VerbModel& verb : program.verbs) text += verb_text(verb);
  return text + fmt::format(".SH \"EXIT STATUS\"\n{}\n", troff(program.footer));
}

}  // namespace rankwire
