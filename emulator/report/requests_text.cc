// The figures of requests as texts, tables and pictures.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/html_times.h"
#include "emulator/report/message_curves.h"
#include "emulator/report/requests.h"

namespace rankwire {
namespace {

using RequestJson = nlohmann::ordered_json;

template <class T>
RequestJson number_json(const std::optional<T>& value) {
  return value ? RequestJson(*value) : RequestJson(nullptr);
}

RequestJson quantiles_json(const std::optional<RequestQuantiles>& of) {
  if (!of) return nullptr;
  return {{"mean_ps", of->mean.ps}, {"p50_ps", of->p50.ps}, {"p90_ps", of->p90.ps},
          {"p95_ps", of->p95.ps},   {"p99_ps", of->p99.ps}, {"max_ps", of->max.ps}};
}

/// "ttft 200 ms, tpot 50 ms".
std::string objectives_text(const ServiceObjectives& objectives) {
  std::string text;
  for (const RequestQuantity& quantity : request_quantities()) {
    if (const auto& most = objectives.*quantity.objective)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", quantity.name, readable(*most));
  }
  return text;
}

std::string per_second_text(std::optional<double> rate) {
  return rate ? four_digits(*rate) : "-";
}

std::string share_text(std::optional<double> share) {
  return share ? fmt::format("{:.1f} %", *share * 100) : "-";
}

std::string side_text(const RequestTable& table, const RequestTable::Side& side) {
  const RequestFigures& figures = side.figures;
  std::string text =
      fmt::format("{} of {} complete, {} requests/s, {} tokens/s", figures.complete, figures.requests,
                  per_second_text(figures.rate(figures.complete)), per_second_text(figures.rate(figures.tokens)));
  if (!figures.within) return text;
  return text + fmt::format("; {} keep {}: goodput {} requests/s", share_text(figures.attainment()),
                            objectives_text(table.objectives), per_second_text(figures.rate(figures.within)));
}

MessageCurve request_curve(const RequestTable& table, size_t side, const RequestQuantity& quantity) {
  std::vector<Duration> times;
  for (const RequestTable::Row& row : table.rows) {
    if (!row.times[side]) continue;
    if (const auto time = (*row.times[side].*quantity.of)()) times.push_back(*time);
  }
  std::ranges::sort(times);
  MessageCurve curve{.run = table.sides[side].fidelity, .count = times.size()};
  for (const uint64_t place : curve_places(times.size())) {
    const double part = static_cast<double>(place) / static_cast<double>(times.size());
    const Duration time = times[place - 1];
    if (!curve.points.empty() && curve.points.back().time == time) {
      curve.points.back().part = part;
    } else {
      curve.points.push_back({part, time});
    }
  }
  return curve;
}

std::string request_pictures(const RequestTable& table) {
  std::string html;
  for (const RequestQuantity& quantity : request_quantities()) {
    MessageCurves curves{.kind = quantity.title};
    for (size_t side = 0; side < table.sides.size(); ++side) {
      MessageCurve curve = request_curve(table, side, quantity);
      if (curve.count > 0) curves.runs.push_back(std::move(curve));
    }
    if (!curves.runs.empty()) html += message_curves_figure(curves, "requests");
  }
  return html;
}

}  // namespace

nlohmann::ordered_json request_figures_json(const std::optional<RequestFigures>& figures) {
  if (!figures) return nullptr;
  RequestJson json = {{"requests", figures->requests},
                      {"complete", figures->complete},
                      {"output_tokens", figures->tokens},
                      {"within", number_json(figures->within)},
                      {"attainment", number_json(figures->attainment())},
                      {"span_ps", figures->span.ps},
                      {"goodput_per_s", number_json(figures->rate(figures->within))},
                      {"requests_per_s", number_json(figures->rate(figures->complete))},
                      {"tokens_per_s", number_json(figures->rate(figures->tokens))}};
  for (const RequestQuantity& quantity : request_quantities())
    json[quantity.name] = quantiles_json(*figures.*quantity.quantiles);
  return json;
}

nlohmann::ordered_json requests_json(const RequestTable& table) {
  if (table.rows.empty()) return nullptr;
  RequestJson objectives = RequestJson::object();
  for (const RequestQuantity& quantity : request_quantities()) {
    const auto& most = table.objectives.*quantity.objective;
    objectives[fmt::format("{}_ps", quantity.name)] = most ? RequestJson(most->ps) : RequestJson(nullptr);
  }
  RequestJson held;
  if (const auto of = held_requests(table)) held = {{"requests", of->requests}, {"batches", of->batches}};
  RequestJson json = {
      {"objectives", objectives}, {"held", held}, {"emulated", nullptr}, {"reference", nullptr}, {"twin", nullptr}};
  for (const RequestTable::Side& side : table.sides) json[side.key] = request_figures_json(side.figures);
  return json;
}

std::string requests_text(const RequestTable& table) {
  if (table.sides.empty()) return {};
  std::string text;
  for (const RequestTable::Side& side : table.sides)
    text += fmt::format("{:<14}{}: {}\n", &side == &table.sides.front() ? "requests" : "", side.key,
                        side_text(table, side));
  if (const auto held = held_requests(table))
    text += fmt::format("{:<14}{} of {} waited for memory while {} batches began\n", "", held->requests,
                        table.rows.size(), held->batches);
  text +=
      fmt::format("  {:<22} {:<10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "", "", "mean", "P50", "P95", "P99", "max");
  for (const RequestQuantity& quantity : request_quantities()) {
    for (const RequestTable::Side& side : table.sides) {
      const auto& of = side.figures.*quantity.quantiles;
      if (!of) continue;
      text +=
          fmt::format("  {:<22} {:<10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", quantity.title, side.key,
                      readable(of->mean), readable(of->p50), readable(of->p95), readable(of->p99), readable(of->max));
    }
  }
  return text;
}

std::string html_requests(const RequestTable& table) {
  if (table.sides.empty()) return {};
  using HtmlColumn::kText;
  HtmlTable rates("requests", {{"Run", kText},
                               {"Requests"},
                               {"Complete"},
                               {"Output tokens"},
                               {"Requests/s"},
                               {"Tokens/s"},
                               {"Kept objectives"},
                               {"Goodput/s"}});
  for (const RequestTable::Side& side : table.sides) {
    const RequestFigures& f = side.figures;
    rates.add({side.key, f.requests, f.complete, f.tokens, per_second_text(f.rate(f.complete)),
               per_second_text(f.rate(f.tokens)), share_text(f.attainment()), per_second_text(f.rate(f.within))});
  }
  HtmlTable times(
      "requests",
      {{"Quantity", kText}, {"Run", kText}, {"Objective"}, {"Mean"}, {"P50"}, {"P90"}, {"P95"}, {"P99"}, {"Longest"}});
  for (const RequestQuantity& quantity : request_quantities()) {
    for (const RequestTable::Side& side : table.sides) {
      const auto& of = side.figures.*quantity.quantiles;
      if (!of) continue;
      times.add({quantity.title, side.key, table.objectives.*quantity.objective, of->mean, of->p50, of->p90, of->p95,
                 of->p99, of->max});
    }
  }
  return std::move(rates).finish() + std::move(times).finish() + request_pictures(table);
}

std::string requests_csv(const RequestTable& table) {
  std::string csv = "job,iteration,request,input_tokens,output_tokens,held_batches";
  for (const RequestTable::Side& side : table.sides)
    csv += fmt::format(
        ",{0}_arrival_ps,{0}_first_token_ps,{0}_last_token_ps,{0}_ttft_ps,{0}_tpot_ps,{0}_latency_ps,"
        "{0}_kept",
        side.key);
  csv += '\n';
  const auto ps = [](const auto& time) { return time ? fmt::format(",{}", time->ps) : std::string(","); };
  for (const RequestTable::Row& row : table.rows) {
    const auto known = [](const std::optional<int64_t>& value) { return value ? fmt::to_string(*value) : ""; };
    csv += fmt::format("{},{},{},{},{},{}", row.info.job.value, row.iteration, row.info.request,
                       known(row.info.input_tokens), row.info.output_tokens, known(row.info.held_batches));
    for (const std::optional<RequestTimes>& times : row.times) {
      if (!times) {
        csv += ",,,,,,,";
        continue;
      }
      csv += fmt::format(",{}{}{}{}{}{},", times->arrival.ps, ps(times->first_token), ps(times->last_token),
                         ps(times->ttft()), ps(times->tpot()), ps(times->latency()));
      if (table.objectives.any()) csv += times->keeps(table.objectives) ? '1' : '0';
    }
    csv += '\n';
  }
  return csv;
}

}  // namespace rankwire
