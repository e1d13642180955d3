// SPDX-License-Identifier: MIT
#include "data/survey.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/columns.hpp"

namespace lockstep::data {
namespace {

void survey_labels(Survey& survey,
                   const PackOptions& options,
                   const IdxFile& images,
                   IdxFile& labels) {
  if (labels.shape().size() != 1) {
    throw DataError(cat(labels.path(),
                        ": shape ",
                        shape_text(labels.shape()),
                        " found; needed: one label a sample (magic number 0x00000801)"));
  }
  if (labels.rows() != images.rows()) {
    throw DataError(cat(images.path(),
                        " holds ",
                        images.rows(),
                        " samples and ",
                        labels.path(),
                        " ",
                        labels.rows(),
                        " labels; needed: as many of both"));
  }
  for_pieces(labels, [&](std::int64_t, std::span<const std::uint8_t> values) {
    survey.labels.insert(survey.labels.end(), values.begin(), values.end());
  });
  const auto largest = std::max_element(survey.labels.begin(), survey.labels.end());
  const auto named = options.class_names.size();
  if (named > 0 && *largest >= named) {
    throw DataError(cat(labels.path(),
                        ": row ",
                        largest - survey.labels.begin(),
                        " holds the label ",
                        int{*largest},
                        "; legal are 0 to ",
                        named - 1,
                        ", as ",
                        named,
                        " class names are given"));
  }
  survey.class_counts.resize(named > 0 ? named : std::size_t{*largest} + 1);
  for (const auto label : survey.labels) ++survey.class_counts[label];
}

void survey_images(Survey& survey, IdxFile& images, const Progress& progress) {
  const auto channels = static_cast<std::size_t>(survey.sample_shape.front());
  const auto channel_bytes = static_cast<std::size_t>(images.row_bytes()) / channels;
  survey.histograms.resize(channels);
  for_pieces(images, [&](std::int64_t first, std::span<const std::uint8_t> values) {
    for (std::size_t at = 0, c = 0; at < values.size();
         at += channel_bytes, c = (c + 1) % channels) {
      for (const auto value : values.subspan(at, channel_bytes)) ++survey.histograms[c][value];
    }
    if (progress)
      progress(first + static_cast<std::int64_t>(values.size()) / images.row_bytes(),
               2 * images.rows());
  });
  for (const auto& histogram : survey.histograms) {
    double sum = 0, squares = 0, count = 0;
    for (int value = 0; value < 256; ++value) {
      count += static_cast<double>(histogram[static_cast<std::size_t>(value)]);
      sum += static_cast<double>(histogram[static_cast<std::size_t>(value)] * value);
      squares += static_cast<double>(histogram[static_cast<std::size_t>(value)] * value * value);
    }
    const double mean = sum / count;
    survey.mean.push_back(mean / 255);
    survey.deviation.push_back(std::sqrt(std::max(0.0, squares / count - mean * mean)) / 255);
  }
}

}  // namespace

std::vector<std::int64_t> sample_shape_of(const IdxFile& images) {
  std::vector<std::int64_t> shape(images.shape().begin() + 1, images.shape().end());
  if (shape.empty())
    throw DataError(cat(images.path(),
                        ": shape ",
                        shape_text(images.shape()),
                        " found; needed: images of 2 to 4 dimensions, [N, H, W]"));
  if (shape.size() == 2) shape.insert(shape.begin(), 1);
  return shape;
}

Survey survey_input(const PackOptions& options, const Progress& progress) {
  IdxFile images(options.idx_images), labels(options.idx_labels);
  Survey survey{.sample_shape = sample_shape_of(images),
                .bytes_in = images.file_bytes() + labels.file_bytes()};
  if (images.rows() == 0) throw DataError(cat(options.idx_images, ": holds no samples"));
  if (options.shards > images.rows()) {
    throw UsageError(cat("--shards ",
                         options.shards,
                         " with ",
                         images.rows(),
                         " samples; needed: at least one sample a shard"));
  }
  survey_labels(survey, options, images, labels);
  survey_images(survey, images, progress);
  return survey;
}

}  // namespace lockstep::data
