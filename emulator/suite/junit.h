// A suite as JUnit XML, which continuous integration shows.
#pragma once

#include <string>

#include "emulator/suite/suite.h"

namespace rankwire {

/// One `testsuites` with one `testsuite`, by the schema of Apache Ant's JUnit tasks (docs/schemas/junit.xsd). A test is
/// a `testcase`, the last part of its id its name and what is before that its class, behind the name of the suite. What
/// fails is a `failure`, what could not be carried out an `error`, what was skipped or is inconclusive is `skipped` and
/// says which. The schema has no place in a test for what was measured, so that stands in properties "ID.NAME" of the
/// suite, and for people in what is not a pass and in `system-out`. Times are in seconds, the suite's in UTC.
std::string junit_xml(const SuiteResult& suite);

}  // namespace rankwire
