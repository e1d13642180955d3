// SPDX-License-Identifier: MIT
#include "checkpoint/manifest.hpp"

#include <nlohmann/json.hpp>

#include "core/digest.hpp"
#include "core/error.hpp"
#include "core/partition.hpp"
#include "core/text.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr const char* kFormat = "lockstep checkpoint";

// The fields whose damage would go unnoticed: everything but the list, which has its own digest.
std::uint64_t header_digest(const Manifest& manifest) {
  std::string order;
  for (const auto index : manifest.bucket_order) order += cat('/', index);
  return digest(cat(manifest.step,
                    '/',
                    manifest.bytes,
                    '/',
                    manifest.ranks,
                    '/',
                    manifest.lockstep_version,
                    '/',
                    manifest.torch_version,
                    order));
}

// A whole number; a conversion from 1e300 would be undefined.
std::int64_t integer(const nlohmann::json& json, const char* key, const std::string& path) {
  const auto& value = json.at(key);
  if (!value.is_number_integer()) throw DataError(cat(path, ": ", key, " is not a whole number"));
  return value.get<std::int64_t>();
}

Manifest read_fields(const nlohmann::json& json, const std::string& path) {
  if (json.at("format").get<std::string>() != kFormat)
    throw DataError(cat(path, ": is not the manifest of a checkpoint"));
  const auto version = integer(json, "format_version", path);
  if (version != kFormatVersion) {
    throw DataError(
        cat(path, ": format version ", version, "; this program reads version ", kFormatVersion));
  }
  Manifest out;
  out.step = integer(json, "step", path);
  out.bytes = integer(json, "bytes", path);
  const auto block_bytes = integer(json, "block_bytes", path);
  if (block_bytes != kDigestBlockBytes) {
    throw DataError(
        cat(path, ": block_bytes is ", block_bytes, "; it must be ", kDigestBlockBytes));
  }
  for (const auto& block : json.at("blocks"))
    out.blocks.push_back(parse_hex(block.get<std::string>(), cat(path, ", blocks")));
  const auto& provenance = json.at("provenance");
  out.ranks = integer(provenance, "ranks", path);
  out.lockstep_version = provenance.at("lockstep").get<std::string>();
  out.torch_version = provenance.at("torch").get<std::string>();
  for (const auto& index : provenance.at("bucket_order")) {
    if (!index.is_number_integer())
      throw DataError(cat(path, ": bucket_order holds no whole numbers"));
    out.bucket_order.push_back(index.get<std::int64_t>());
  }
  return out;
}

}  // namespace

std::string to_text(const Manifest& manifest) {
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["format_version"] = kFormatVersion;
  json["step"] = manifest.step;
  json["bytes"] = manifest.bytes;
  json["block_bytes"] = kDigestBlockBytes;
  json["digest"] = hex(digest_of_blocks(manifest.blocks));
  json["header_digest"] = hex(header_digest(manifest));
  json["provenance"] = {{"ranks", manifest.ranks},
                        {"lockstep", manifest.lockstep_version},
                        {"torch", manifest.torch_version},
                        {"bucket_order", manifest.bucket_order}};
  json["blocks"] = nlohmann::json::array();
  for (const auto block : manifest.blocks) json["blocks"].push_back(hex(block));
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Manifest parse_manifest(std::string_view text, const std::string& path) {
  try {
    const auto json = nlohmann::json::parse(text);
    const Manifest out = read_fields(json, path);
    constexpr auto kMaxBytes = std::int64_t{1} << 60;
    if (out.step < 0 || out.bytes <= 0 || out.bytes > kMaxBytes ||
        ceil_div(out.bytes, kDigestBlockBytes) != static_cast<std::int64_t>(out.blocks.size())) {
      throw DataError(cat(path,
                          ": step ",
                          out.step,
                          ", ",
                          out.bytes,
                          " bytes and ",
                          out.blocks.size(),
                          " blocks do not fit together"));
    }
    const auto whole = digest_of_blocks(out.blocks);
    if (parse_hex(json.at("digest").get<std::string>(), cat(path, ", digest")) != whole ||
        parse_hex(json.at("header_digest").get<std::string>(), cat(path, ", header_digest")) !=
            header_digest(out)) {
      throw DataError(cat(path, ": its own digests do not fit; the manifest is damaged"));
    }
    return out;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(cat(path, ": is not a whole manifest: ", error.what()));
  }
}

}  // namespace lockstep::checkpoint
