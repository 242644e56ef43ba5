// `trace draw`.
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "base/child_process.h"
#include "base/log.h"
#include "emulator/cli/trace_inputs.h"
#include "emulator/report/output_file.h"
#include "emulator/traces/draw.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::seconds(120);

const char* to_string(Collapse collapse) {
  static constexpr std::array kNames = {"nothing", "layer", "name", "stem", "most"};
  return kNames[static_cast<size_t>(collapse)];
}

}  // namespace

int draw_traces(const TraceDrawRequest& request) {
  const TimingOptions times = timing_options(request.inputs, request.times);
  const ReadSet read = read_one_set(request.inputs);
  const auto place = request.rank < read.set.place_of.size() ? read.set.place_of[request.rank] : RankSet::kNone;
  if (place == RankSet::kNone) fail_input("--rank {}: {} has no such trace", request.rank, read.set.files.name);

  const DotGraph graph = dot_graph(read.set, place, request.most, times.element_size);
  check_prefix(request.out);
  std::vector<std::string> files = {request.out + ".dot"};
  if (const fs::path folder = fs::path(request.out).parent_path(); !folder.empty()) fs::create_directories(folder);
  write_file(files.front(), graph.text);
  if (const std::string svg = timeline_svg(read.set, time_operations(read.set, read.matches, times)); !svg.empty()) {
    files.push_back(request.out + ".timeline.svg");
    write_file(files.back(), svg);
  }
  int status = 0;
  for (const std::string& format : request.formats) {
    const std::string file = request.out + "." + format;
    const std::string problem = run_program({"dot", "-T" + format, "-o", file, files.front()}, kPatience);
    if (problem.empty()) {
      files.push_back(file);
    } else {
      log_error(fmt::format("{}: {} (dot is of the package graphviz); {} is drawn by any Graphviz", file, problem,
                            files.front()));
      status = 1;
    }
  }
  if (request.inputs.form == OutputForm::kJson) {
    print_json({{"files", files},
                {"nodes", read.set.ranks[place].nodes.size()},
                {"vertices", graph.vertices},
                {"edges", graph.edges},
                {"collapsed", to_string(graph.collapse)}});
  } else {
    fmt::print("{} nodes as {} vertices and {} edges (collapsed by {}):", read.set.ranks[place].nodes.size(),
               graph.vertices, graph.edges, to_string(graph.collapse));
    for (const std::string& file : files) fmt::print(" {}", file);
    fmt::print("\n");
  }
  return status;
}

}  // namespace rankwire
