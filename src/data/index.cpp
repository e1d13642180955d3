// SPDX-License-Identifier: MIT
#include "data/index.hpp"

#include <nlohmann/json.hpp>

#include "core/digest.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kFormat = "lockstep-dataset";
constexpr int kVersion = 1;

Index checked(const Json& json, const std::string& path) {
  if (json.at("format") != kFormat)
    throw DataError(
        cat(path, ": format is ", json.at("format").dump(), "; needed: \"", kFormat, "\""));
  if (json.at("version") != kVersion)
    throw DataError(
        cat(path, ": version is ", json.at("version").dump(), "; this program reads ", kVersion));
  Index index;
  json.at("split").get_to(index.split);
  json.at("num_classes").get_to(index.num_classes);
  json.at("dtype").get_to(index.dtype);
  json.at("shape").get_to(index.shape);
  index.class_names = json.value("class_names", index.class_names);
  index.channel_mean = json.value("channel_mean", index.channel_mean);
  index.channel_std = json.value("channel_std", index.channel_std);
  for (const auto& shard : json.at("shards")) {
    Index::Entry entry{.file = shard.at("file"),
                       .samples = shard.at("samples"),
                       .bytes = shard.at("bytes"),
                       .digest = shard.at("digest")};
    // A name that leaves the folder could point anywhere.
    if (entry.file.empty() || entry.file.find('/') != std::string::npos || entry.file == "." ||
        entry.file == "..") {
      throw DataError(cat(path, ": shard file '", entry.file, "' is not a plain file name"));
    }
    parse_hex(entry.digest, cat(path, ", digest of ", entry.file));
    index.shards.push_back(std::move(entry));
  }
  if (index.shards.empty()) throw DataError(cat(path, ": lists no shards"));
  if (index.num_classes < 0)
    throw DataError(cat(path, ": num_classes is ", index.num_classes, "; needed: 0 or more"));
  return index;
}

}  // namespace

std::string print_index(const Index& index) {
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"split", index.split},
               {"num_classes", index.num_classes},
               {"dtype", index.dtype},
               {"shape", index.shape}};
  std::int64_t samples = 0;
  for (const auto& entry : index.shards) samples += entry.samples;
  json["samples"] = samples;
  json["class_names"] = index.class_names;
  json["channel_mean"] = index.channel_mean;
  json["channel_std"] = index.channel_std;
  json["shards"] = Json::array();
  for (const auto& entry : index.shards) {
    json["shards"].push_back({{"file", entry.file},
                              {"samples", entry.samples},
                              {"bytes", entry.bytes},
                              {"digest", entry.digest}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Index parse_index(const std::string& text, const std::string& path) {
  try {
    return checked(Json::parse(text), path);
  } catch (const nlohmann::json::exception& error) {
    throw DataError(cat(path, ": ", error.what()));
  }
}

}  // namespace lockstep::data
