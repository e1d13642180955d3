// SPDX-License-Identifier: MIT
#include "data/dataset.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "comm/agree.hpp"
#include "core/digest.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "data/columns.hpp"
#include "data/index.hpp"
#include "data/listing.hpp"
#include "data/shard.hpp"
#include "io/file.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Texts travel in CBOR, which carries any bytes and all bits of a double.
std::string pack(const Json& json) {
  std::string out;
  Json::to_cbor(json, out);
  return out;
}

Json to_json(const Column& column) {
  return {column.dataset,
          column.dtype,
          column.sample_shape,
          column.sample_bytes,
          column.file_offset};
}
Column to_column(const Json& json) {
  return {json.at(0).get<std::string>(),
          json.at(1).get<std::string>(),
          json.at(2).get<std::vector<std::int64_t>>(),
          json.at(3).get<std::int64_t>(),
          json.at(4).get<std::int64_t>()};
}

Json to_json(const ShardReport& report) {
  const auto& shard = report.shard;
  return {{"path", shard.path},
          {"samples", shard.samples},
          {"bytes", shard.file_bytes},
          {"input", to_json(shard.input)},
          {"target", to_json(shard.target)},
          {"digests_offset", shard.digests_offset},
          {"split", report.split},
          {"num_classes", report.num_classes},
          {"class_names", report.class_names},
          {"mean", report.channel_mean},
          {"std", report.channel_std},
          {"lowest", {report.lowest.value, report.lowest.row}},
          {"highest", {report.highest.value, report.highest.row}},
          {"content", report.content}};
}
ShardReport to_report(const Json& json) {
  ShardReport out;
  json.at("path").get_to(out.shard.path);
  json.at("samples").get_to(out.shard.samples);
  json.at("bytes").get_to(out.shard.file_bytes);
  out.shard.input = to_column(json.at("input"));
  out.shard.target = to_column(json.at("target"));
  json.at("digests_offset").get_to(out.shard.digests_offset);
  json.at("split").get_to(out.split);
  json.at("num_classes").get_to(out.num_classes);
  json.at("class_names").get_to(out.class_names);
  json.at("mean").get_to(out.channel_mean);
  json.at("std").get_to(out.channel_std);
  out.lowest = {json.at("lowest").at(0), json.at("lowest").at(1)};
  out.highest = {json.at("highest").at(0), json.at("highest").at(1)};
  json.at("content").get_to(out.content);
  return out;
}

Json to_json(const Listing& listing) {
  return {{"files", listing.files}, {"index", listing.index ? print_index(*listing.index) : ""}};
}

std::string sample_text(const Column& column) {
  return cat(column.dtype, " ", shape_text(column.sample_shape));
}

// All shards agree with the first one.
void check_together(const std::vector<ShardReport>& reports) {
  const auto& first = reports.front();
  for (const auto& report : reports) {
    const auto& a = first.shard.input;
    const auto& b = report.shard.input;
    if (a.dtype != b.dtype || a.sample_shape != b.sample_shape) {
      throw DataError(cat(report.shard.path,
                          ": samples are ",
                          sample_text(b),
                          ", those of ",
                          first.shard.path,
                          " are ",
                          sample_text(a),
                          "; needed: one type and shape in all shards"));
    }
    if (report.num_classes != first.num_classes) {
      throw DataError(cat(report.shard.path,
                          ": num_classes is ",
                          report.num_classes,
                          ", in ",
                          first.shard.path,
                          " it is ",
                          first.num_classes));
    }
    if (report.channel_mean != first.channel_mean || report.channel_std != first.channel_std) {
      throw DataError(cat(report.shard.path,
                          ": channel_mean or channel_std differ from those of ",
                          first.shard.path,
                          "; they belong to the whole set"));
    }
  }
}

void check_against(const Index& index,
                   const std::string& path,
                   const std::vector<ShardReport>& reports) {
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto& entry = index.shards[i];
    const auto& shard = reports[i].shard;
    if (entry.samples != shard.samples || entry.bytes != shard.file_bytes) {
      throw DataError(cat(shard.path,
                          ": ",
                          shard.samples,
                          " samples in ",
                          shard.file_bytes,
                          " bytes found, ",
                          kIndexName,
                          " says ",
                          entry.samples,
                          " in ",
                          entry.bytes,
                          "; pack it again"));
    }
    if (index.dtype != shard.input.dtype || index.shape != shard.input.sample_shape) {
      throw DataError(cat(shard.path,
                          ": samples are ",
                          sample_text(shard.input),
                          ", ",
                          kIndexName,
                          " says ",
                          index.dtype,
                          " ",
                          shape_text(index.shape)));
    }
  }
  check_channels(cat(path, "/", kIndexName), index.channel_mean, index.channel_std, index.shape);
}

void check_labels(const std::vector<ShardReport>& reports, std::int64_t num_classes) {
  for (const auto& report : reports) {
    if (report.shard.samples == 0) continue;
    const bool low = report.lowest.value < 0;
    const auto& wrong = low ? report.lowest : report.highest;
    if (!low && (num_classes == 0 || wrong.value < num_classes)) continue;
    throw DataError(cat(report.shard.path,
                        ", ",
                        report.shard.target.dataset,
                        ": row ",
                        wrong.row,
                        " holds the label ",
                        wrong.value,
                        "; legal are ",
                        num_classes == 0 ? "0 and more" : cat("0 to ", num_classes - 1)));
  }
}

void add_shards(DataSet& set,
                const std::vector<ShardReport>& reports,
                const std::optional<Index>& index,
                bool speak) {
  DigestStream fingerprint;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    auto shard = reports[i].shard;
    shard.first_id = set.samples;
    if (index) shard.digest = index->shards[i].digest;
    if (shard.samples == 0 && speak) log::info(cat(shard.path, " holds no samples"));
    set.samples += shard.samples;
    fingerprint.add(cat(io::name_of(shard.path),
                        '\n',
                        shard.samples,
                        ' ',
                        shard.file_bytes,
                        ' ',
                        shard.digest,
                        ' ',
                        sample_text(shard.input),
                        ' ',
                        hex(reports[i].content),
                        '\n'));
    set.shards.push_back(std::move(shard));
  }
  set.fingerprint = fingerprint.value();
}

std::int64_t classes_seen(const std::vector<ShardReport>& reports) {
  std::int64_t highest = -1;
  for (const auto& report : reports) {
    if (report.shard.samples > 0) highest = std::max(highest, report.highest.value);
  }
  return highest + 1;
}

// The same on every rank, from the same reports.
DataSet merge(const std::string& path,
              const std::vector<ShardReport>& reports,
              const std::optional<Index>& index,
              std::int64_t num_classes,
              bool speak) {
  check_together(reports);
  if (index) check_against(*index, path, reports);
  DataSet set;
  set.path = path;
  add_shards(set, reports, index, speak);
  if (set.samples == 0) throw DataError(cat(path, ": no shard holds a sample"));
  const auto& first = reports.front();
  set.sample_shape = first.shard.input.sample_shape;
  set.input_dtype = first.shard.input.dtype;
  set.split = index ? index->split : first.split;
  set.class_names = index ? index->class_names : first.class_names;
  set.channel_mean = index ? index->channel_mean : first.channel_mean;
  set.channel_std = index ? index->channel_std : first.channel_std;
  const auto declared = index ? index->num_classes : first.num_classes;
  set.num_classes = num_classes > 0 ? num_classes : declared;
  check_labels(reports, set.num_classes);
  if (set.num_classes == 0) set.num_classes = classes_seen(reports);
  return set;
}

}  // namespace

DataSet open_data_set(const std::string& path,
                      comm::Communicator& communicator,
                      std::int64_t num_classes) {
  std::string text;
  comm::agree_on(communicator, [&] {
    if (communicator.rank() == 0) text = pack(to_json(list_shards(path)));
  });
  const auto listing = Json::from_cbor(communicator.broadcast(std::move(text), 0));
  const auto files = listing.at("files").get<std::vector<std::string>>();
  const auto index_text = listing.at("index").get<std::string>();
  std::optional<Index> index;

  Json mine = Json::array();
  comm::agree_on(communicator, [&] {
    if (!index_text.empty()) index = parse_index(index_text, cat(path, "/", kIndexName));
    for (auto i = static_cast<std::size_t>(communicator.rank()); i < files.size();
         i += static_cast<std::size_t>(communicator.ranks())) {
      mine.push_back(to_json(inspect_shard(files[i])));
    }
  });
  const auto texts = communicator.all_gather(pack(mine));
  std::vector<ShardReport> reports(files.size());
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    std::size_t file = rank;
    for (const auto& entry : Json::from_cbor(texts[rank])) {
      reports[file] = to_report(entry);
      file += texts.size();
    }
  }
  DataSet set;
  comm::agree_on(communicator, [&] {  // all find the same faults: said once
    set = merge(path, reports, index, num_classes, communicator.rank() == 0);
  });
  return set;
}

std::string shipped_data_set() {
  const auto program = fs::path(io::executable_path()).parent_path();
  const std::vector<fs::path> places = {program.parent_path() / "share/lockstep/data/digits/train",
                                        fs::path(kSourceDir) / "data/digits/train"};
  for (const auto& place : places) {
    if (fs::exists(place / kIndexName)) return place.string();
  }
  throw MissingInputError(cat("the data set that comes with Lockstep is neither in ",
                              places[0].string(),
                              " nor in ",
                              places[1].string(),
                              "; name one with --data"));
}

}  // namespace lockstep::data
