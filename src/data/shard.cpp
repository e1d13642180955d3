// SPDX-License-Identifier: MIT
#include "data/shard.hpp"

#include <algorithm>
#include <cmath>

#include "core/digest.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "data/columns.hpp"
#include "io/file.hpp"
#include "io/hdf5.hpp"

namespace lockstep::data {
namespace {

constexpr std::int64_t kMaxNames = 4096;
constexpr std::size_t kMaxRank = 8;
constexpr std::int64_t kPieceRows = 1 << 16;
constexpr const char* kRepair = "rewrite it with h5repack -f NONE -l CONTI, or pack it again";

// One column with its row count, after all checks of its layout.
struct Checked {
  Column column;
  std::int64_t rows = 0;
};

class Inspector {
 public:
  explicit Inspector(const std::string& path)
      : file_(io::H5File::open_to_read(path)),
        fd_(io::open_to_read(path)),
        file_bytes_(io::file_bytes(fd_, path)) {}

  ShardReport run() {
    if (file_.user_block_bytes() != 0)
      refuse("/", cat("starts with a user block of ", file_.user_block_bytes(), " bytes"), "none");
    const auto root = names_in("/");
    const auto input = check_column(only_one(root, "images", "inputs"));
    const auto target = check_column(only_one(root, "labels", "targets"));
    check_input(input);
    check_target(target, input);
    ShardReport report;
    report.shard = {.path = file_.path(),
                    .samples = input.rows,
                    .file_bytes = file_bytes_,
                    .input = input.column,
                    .target = target.column};
    if (has(root, "xxh3")) report.shard.digests_offset = check_digests(input);
    read_attributes(report, input.column);
    scan(report);
    file_.close();
    return report;
  }

 private:
  [[noreturn]] void refuse(const std::string& object,
                           const std::string& found,
                           const std::string& needed) const {
    throw DataError(cat(file_.path(), ", ", object, ": ", found, "; needed: ", needed));
  }

  static bool has(const std::vector<io::H5Link>& links, const std::string& name) {
    return std::any_of(links.begin(), links.end(), [&](const auto& link) {
      return link.name == name;
    });
  }

  std::vector<io::H5Link> names_in(const std::string& group) const {
    auto links = file_.links(group, kMaxNames);
    for (const auto& link : links) {
      if (link.kind == io::H5Link::Kind::kHard) continue;
      const char* kind = link.kind == io::H5Link::Kind::kSoft       ? "soft"
                         : link.kind == io::H5Link::Kind::kExternal ? "external"
                                                                    : "user-defined";
      refuse(cat(group == "/" ? "" : group + "/", link.name),
             cat("is a ", kind, " link"),
             "hard links only, which cannot leave the file");
    }
    return links;
  }

  // The name of the dataset `plain`, or of the only one in `group`.
  std::string only_one(const std::vector<io::H5Link>& root,
                       const std::string& plain,
                       const std::string& group) const {
    if (has(root, plain)) return plain;
    std::vector<std::string> found;
    for (const auto& link : root) found.push_back(link.name);
    if (has(root, group)) {
      const auto inner = names_in(group);
      if (inner.size() == 1) return cat(group, "/", inner.front().name);
      found.clear();
      for (const auto& link : inner) found.push_back(cat(group, "/", link.name));
    }
    throw DataError(cat(file_.path(),
                        ": has no dataset '",
                        plain,
                        "' nor a single one in '",
                        group,
                        "/'; it holds: ",
                        found.empty() ? "nothing" : join(found, ", ")));
  }

  Checked check_column(const std::string& name) const {
    for (const auto& link :
         file_.links(name.find('/') == std::string::npos ? "/" : name.substr(0, name.find('/')),
                     kMaxNames)) {
      if (link.name == io::name_of(name) && link.object != io::H5Link::Object::kDataset)
        refuse(name, "is not a dataset", "a dataset");
    }
    const auto info = file_.info(name);
    if (info.external_files > 0)
      refuse(name,
             cat("keeps its data in ", info.external_files, " other file(s)"),
             "data inside the shard");
    for (const auto& filter : info.filters) {
      refuse(name,
             cat("is stored with filter '", filter.name, "' (id ", filter.id, ")"),
             cat("no filter, as plug-ins are never loaded here (h5repack finds them by "
                 "HDF5_PLUGIN_PATH); ",
                 kRepair));
    }
    if (info.layout != io::H5Layout::kContiguous) {
      const char* layout = info.layout == io::H5Layout::kChunked   ? "chunked"
                           : info.layout == io::H5Layout::kCompact ? "compact"
                                                                   : "virtual";
      refuse(name, cat("has ", layout, " layout"), cat("contiguous layout; ", kRepair));
    }
    if (!info.native)
      refuse(name, cat("is of type ", info.type), "a plain number type in native byte order");
    if (info.shape.empty() || info.shape.size() > kMaxRank) {
      refuse(name,
             cat("has shape ", shape_text(info.shape)),
             "rows along the first of 1 to 8 dimensions");
    }
    return place(info);
  }

  // Rows and bytes against the file's length, without overflow.
  Checked place(const io::H5DatasetInfo& info) const {
    Checked out{.column = {.dataset = info.name, .dtype = io::h5_type_name(*info.native)},
                .rows = info.shape[0]};
    out.column.sample_shape.assign(info.shape.begin() + 1, info.shape.end());
    std::int64_t bytes = io::h5_type_bytes(*info.native), total = 0;
    bool fits = true;
    for (const auto extent : out.column.sample_shape) {
      if (extent <= 0)
        refuse(info.name, cat("has shape ", shape_text(info.shape)), "no empty sample dimension");
      fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes);
    }
    out.column.sample_bytes = bytes;
    fits = fits && !__builtin_mul_overflow(bytes, out.rows, &total);
    if (out.rows == 0 && fits) return out;
    std::int64_t end = 0;
    fits = fits && info.offset && *info.offset >= 0 &&
           !__builtin_add_overflow(*info.offset, total, &end) && end <= file_bytes_ &&
           info.storage_bytes == total;
    if (!fits) {
      refuse(info.name,
             cat("claims shape ",
                 shape_text(info.shape),
                 " of ",
                 info.type,
                 " in ",
                 info.storage_bytes,
                 " stored bytes"),
             cat("data inside the file's ", file_bytes_, " bytes"));
    }
    out.column.file_offset = *info.offset;
    return out;
  }

  void check_input(const Checked& input) const {
    const auto& column = input.column;
    if (column.dtype != "uint8" && column.dtype != "float32")
      refuse(column.dataset, cat("is of type ", column.dtype), "uint8 or float32");
    if (column.sample_shape.empty())
      refuse(column.dataset,
             cat("has shape [", input.rows, "]"),
             "samples of at least one dimension: [N, F] or [N, C, H, W]");
  }

  void check_target(const Checked& target, const Checked& input) const {
    const auto& column = target.column;
    if (!is_label_type(column.dtype))
      refuse(column.dataset, cat("is of type ", column.dtype), "class labels of an integer type");
    if (!column.sample_shape.empty()) {
      refuse(column.dataset,
             cat("has ", 1 + column.sample_shape.size(), " dimensions"),
             "one label a sample: [N]");
    }
    same_rows(target, input);
  }

  void same_rows(const Checked& other, const Checked& input) const {
    if (other.rows == input.rows) return;
    auto shape = input.column.sample_shape;
    shape.insert(shape.begin(), input.rows);
    throw DataError(cat(file_.path(),
                        ": ",
                        input.column.dataset,
                        " has shape ",
                        shape_text(shape),
                        " and ",
                        other.column.dataset,
                        " has shape [",
                        other.rows,
                        "]; needed: the same number of rows"));
  }

  std::int64_t check_digests(const Checked& input) const {
    const auto digests = check_column("xxh3");
    if (digests.column.dtype != "uint64" || !digests.column.sample_shape.empty()) {
      refuse("xxh3",
             cat("is ",
                 digests.column.dtype,
                 " with ",
                 1 + digests.column.sample_shape.size(),
                 " dimensions"),
             "uint64 [N]");
    }
    same_rows(digests, input);
    return digests.column.file_offset;
  }

  void read_attributes(ShardReport& report, const Column& input) const {
    // Texts of variable length, as h5py writes them by default, are left alone: they are not worth
    // their risks.
    const auto is = [&](const char* name, const char* kind) {
      return file_.attribute_kind("/", name) == kind;
    };
    if (is("split", "text")) report.split = *file_.text_attribute("/", "split");
    if (is("class_names", "texts")) report.class_names = *file_.texts_attribute("/", "class_names");
    report.num_classes = file_.integer_attribute("/", "num_classes").value_or(0);
    if (report.num_classes < 0)
      refuse("attribute num_classes", cat("is ", report.num_classes), "0 or more");
    report.channel_mean =
        file_.reals_attribute("/", "channel_mean").value_or(std::vector<double>{});
    report.channel_std = file_.reals_attribute("/", "channel_std").value_or(std::vector<double>{});
    check_channels(file_.path(), report.channel_mean, report.channel_std, input.sample_shape);
  }

  // Every label once: their range, and a digest that tells one set from another.
  void scan(ShardReport& report) const {
    DigestStream content;
    std::vector<std::byte> raw;
    std::vector<std::int64_t> labels;
    const auto& column = report.shard.target;
    const auto fetch = [&](std::int64_t offset,
                           std::int64_t bytes_per_row,
                           std::int64_t first,
                           std::int64_t rows) {
      raw.resize(static_cast<std::size_t>(rows * bytes_per_row));
      io::pread_all(fd_, raw, offset + first * bytes_per_row, file_.path());
      content.add(raw);
    };
    for (std::int64_t first = 0; first < report.shard.samples; first += kPieceRows) {
      const auto rows = std::min(kPieceRows, report.shard.samples - first);
      if (report.shard.digests_offset >= 0) fetch(report.shard.digests_offset, 8, first, rows);
      fetch(column.file_offset, column.sample_bytes, first, rows);
      labels.resize(static_cast<std::size_t>(rows));
      decode_labels(raw, column.dtype, labels);
      const auto [low, high] = std::minmax_element(labels.begin(), labels.end());
      if (first == 0 || *low < report.lowest.value)
        report.lowest = {*low, first + (low - labels.begin())};
      if (first == 0 || *high > report.highest.value)
        report.highest = {*high, first + (high - labels.begin())};
    }
    report.content = content.value();
  }

  io::H5File file_;
  io::Fd fd_;
  std::int64_t file_bytes_;
};

}  // namespace

void check_channels(const std::string& path,
                    const std::vector<double>& mean,
                    const std::vector<double>& deviation,
                    const std::vector<std::int64_t>& sample_shape) {
  if (mean.empty() && deviation.empty()) return;
  const auto channels = static_cast<std::size_t>(sample_shape.front());
  if (mean.size() != channels || deviation.size() != channels) {
    throw DataError(cat(path,
                        ": channel_mean has ",
                        mean.size(),
                        " and channel_std ",
                        deviation.size(),
                        " values; samples of shape ",
                        shape_text(sample_shape),
                        " have ",
                        channels,
                        " channels"));
  }
  for (std::size_t c = 0; c < channels; ++c) {
    if (std::isfinite(mean[c]) && std::isfinite(deviation[c]) && deviation[c] >= 0) continue;
    throw DataError(cat(path,
                        ": channel ",
                        c,
                        " has mean ",
                        mean[c],
                        " and deviation ",
                        deviation[c],
                        "; needed: finite values, deviation >= 0"));
  }
}

ShardReport inspect_shard(const std::string& path) { return Inspector(path).run(); }

}  // namespace lockstep::data
