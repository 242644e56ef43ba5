#include "tests/campaign/transitions.h"

namespace rankwire::testing {
namespace {

using State = TransitionTable::State;
using Row = TransitionTable::Row;

constexpr State kRequesterStates[] = {
    {'R', "rests"}, {'W', "waits"}, {'A', "repeats"}, {'P', "repairs"}, {'N', "receiver not ready"}, {'E', "error"},
};

// Columns in the order of the states, rows in that of the events. Nothing here has atomics, and Responder::fault is not
// called by the transport, so no responder says "remote operational error".
// clang-format off
constexpr Row kRequesterRows[] = {
    // event                       R    W       A         P         N          E
    {"posted",                   {"R", "W",    "A",      "P",      "N",       "E"}},
    {"packet sent",              {"W", "W",    "",       "P",      "",        ""}},
    {"packet sent again",        {"",  "",     "AW",     "P",      "",        ""}},
    {"READ sent",                {"W", "W",    "",       "P",      "",        ""}},
    {"READ sent again",          {"",  "",     "AW",     "P",      "",        ""}},
    {"old ACK",                  {"R", "W",    "A",      "P",      "N",       "E"}},
    {"ACK",                      {"",  "RWPE", "AP",     "RWAP",   "",        "E"}},
    {"ACK of what is repeated",  {"",  "",     "RAPE?",  "RAP",    "RAP?N?",  "E"}},
    {"old NAK",                  {"R", "W",    "A",      "P",      "N",       "E"}},
    {"sequence NAK",             {"",  "PE",   "PE",     "PE?",    "PNE?",    "E"}},
    {"RNR NAK",                  {"",  "NPE",  "NE",     "NP?E",   "N",       "E"}},
    {"NAK invalid request",      {"",  "E",    "E",      "E",      "E",       "E"}},
    {"NAK remote access",        {"",  "E",    "E",      "E",      "E",       "E"}},
    {"NAK remote operational",   {"",  "E",    "E",      "E",      "E",       "E"}},
    {"reserved NAK",             {"",  "W",    "A",      "P",      "N",       "E"}},
    {"ghost ACK or NAK",         {"R", "W",    "A",      "P",      "N",       "E"}},
    {"old READ response",        {"R", "W",    "A",      "P",      "N",       "E"}},
    {"READ response",            {"",  "RW",   "R?A",    "RWAP",   "NR?A?",   "E"}},
    {"READ response beyond gap", {"",  "RWPE", "R?APE?", "R?WA?P", "NR?A?P?", "E"}},
    {"ghost READ response",      {"R", "W",    "A",      "P",      "N",       "E"}},
    {"time-out",                 {"",  "AE",   "AE",     "AE",     "",        ""}},
    {"RNR timer",                {"",  "",     "",       "",       "P",       ""}},
    {"ended from outside",       {"E", "E",    "E",      "E",      "E",       ""}},
};
// clang-format on

constexpr State kResponderStates[] = {
    {'B', "between messages"},
    {'S', "in SEND"},
    {'W', "in WRITE"},
    {'b', "between messages, asks again"},
    {'s', "in SEND, asks again"},
    {'w', "in WRITE, asks again"},
    {'I', "refuses the request"},
    {'A', "refuses access"},
    {'X', "error"},
};

// clang-format off
constexpr Row kResponderRows[] = {
    // event                 B       S     W      b       s     w      I    A     X
    {"SEND FIRST",         {"SbI",  "I",  "I",   "SbI",  "I",  "I",   "",  "",   ""}},
    {"SEND MIDDLE",        {"I",    "SI", "I",   "I",    "SI", "I",   "",  "",   ""}},
    {"SEND LAST",          {"I",    "BI", "I",   "I",    "BI", "I",   "",  "",   ""}},
    {"SEND ONLY",          {"BbI",  "I",  "I",   "BbI",  "I",  "I",   "",  "",   ""}},
    {"WRITE FIRST",        {"WIA",  "I",  "I",   "WIA",  "I",  "I",   "",  "",   ""}},
    {"WRITE MIDDLE",       {"I",    "I",  "WI",  "I",    "I",  "WI",  "",  "",   ""}},
    {"WRITE LAST",         {"I",    "I",  "BwI", "I",    "I",  "BwI", "",  "",   ""}},
    {"WRITE ONLY",         {"BbIA", "I",  "I",   "BbIA", "I",  "I",   "",  "",   ""}},
    {"READ",               {"BIA",  "I",  "I",   "BIA",  "I",  "I",   "",  "",   ""}},
    {"other opcode",       {"I",    "I",  "I",   "I",    "I",  "I",   "",  "",   ""}},
    {"packet ahead",       {"b",    "s",  "w",   "b",    "s",  "w",   "",  "",   ""}},
    {"repeated packet",    {"B",    "S",  "W",   "b",    "s",  "w",   "",  "",   ""}},
    {"repeated READ",      {"B",    "S",  "W",   "b",    "s",  "w",   "",  "",   ""}},
    {"READ response sent", {"B",    "",   "",    "b",    "",   "",    "I", "A?", ""}},
    {"ACK sent",           {"B",    "S",  "W",   "b",    "s",  "w",   "",  "",   ""}},
    {"sequence NAK sent",  {"",     "",   "",    "b",    "s",  "w",   "",  "",   ""}},
    {"RNR NAK sent",       {"",     "",   "",    "b",    "",   "w",   "",  "",   ""}},
    {"refusal sent",       {"",     "",   "",    "",     "",   "",    "X", "X",  ""}},
};
// clang-format on

}  // namespace

constinit const TransitionTable kRequesterTransitions{"requester", kRequesterStates, kRequesterRows};
constinit const TransitionTable kResponderTransitions{"responder", kResponderStates, kResponderRows};

}  // namespace rankwire::testing
