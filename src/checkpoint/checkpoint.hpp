// SPDX-License-Identifier: MIT
// Named training state <-> one HDF5 file whose bytes depend on the state alone: not on ranks,
// hosts, times or paths.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "comm/communicator.hpp"
#include "tensor/bridge.hpp"

namespace lockstep::checkpoint {

using Scalar = std::variant<std::int64_t, double, std::string>;

/// Everything that a resumed run needs. Tensors are the live ones (CPU, any dense strides): saving
/// reads them, loading writes into them in place. Names are HDF5 paths without the leading slash:
/// "model/conv1.weight", "optim/conv1.weight/exp_avg"; scalars likewise: "counters/step",
/// "sampler/epoch", "meta/model".
struct State {
  std::vector<NamedTensor> tensors;
  std::map<std::string, Scalar> scalars;
};

struct SaveResult {
  std::string file;  ///< "step-00001234.h5"
  std::int64_t bytes = 0;
  double ms = 0;
};

/// What the manifest step-….json beside the file says in addition: it may depend on ranks, hosts
/// and time.
struct Provenance {
  std::int64_t ranks = 1;
  std::string lockstep_version, torch_version;
  /// Parameters as the bucket plan orders them: a resumed run adds gradients as the first one did.
  std::vector<std::int64_t> bucket_order;
};

/// Writes `state` as FOLDER/step-NNNNNNNN.h5: temporary name, every rank writes its 1 MiB blocks,
/// another rank reads them back and compares digests, fsync, manifest, rename, fsync of the folder,
/// `latest`, and only then deletes all but the newest `keep` checkpoints (0: keeps all).
/// Collective; every rank passes the same state. Throws IoError or CannotCreateError on all ranks
/// alike, with path, needed and free bytes where the disk is full; then nothing is published and
/// nothing is deleted.
/// (An error after the rename, in `latest` or the folder's fsync, leaves the verified new file
/// beside the old ones.)
SaveResult save(const std::string& folder,
                std::int64_t step,
                const State& state,
                const Provenance& provenance,
                std::int64_t keep,
                comm::Communicator& communicator);

/// A checkpoint that verified, and what was refused on the way to it.
struct Found {
  std::string path;  ///< empty: there is no checkpoint at all
  std::int64_t step = 0;
  std::vector<std::string> refused;  ///< "step-00000040.h5: block 3 has digest …, expected …"
};

/// The newest checkpoint of the folder that verifies: manifest, size, digests. Throws DataError
/// (65) where there are checkpoints and none verifies: a run never starts fresh in silence.
/// Collective: ranks verify parts of the file.
Found find_newest(const std::string& folder, comm::Communicator& communicator);

/// Verifies one file against its manifest; a lone .h5 without manifest is accepted with
/// `unverified` set. Collective.
struct Verified {
  bool unverified = false;
};
Verified verify(const std::string& path, comm::Communicator& communicator);

/// The scalars of a file ("meta/model", ...), without touching tensors. Local.
std::map<std::string, Scalar> read_scalars(const std::string& path);

/// Fills state.tensors in place and replaces state.scalars. The file must hold exactly these
/// tensors with these shapes and types: every difference is listed at once (name, in the file, in
/// the model) in a DataError, and nothing is changed. With a `prefix` ("model/") only what begins
/// with it is compared and read. Collective.
void load(const std::string& path,
          State& state,
          comm::Communicator& communicator,
          const std::string& prefix = "");

/// What the manifest beside a checkpoint says of the run that wrote it; empty where there is none.
/// Local.
Provenance read_provenance(const std::string& path);

/// Whether this HDF5 file says that it is a checkpoint. Local.
bool is_checkpoint(const std::string& path);

/// Removes what a killed save left: temporaries, and a manifest without its data. Rank 0's job;
/// local.
void remove_leftovers(const std::string& folder);

/// What `info` prints.
struct Entry {
  std::string name, dtype, shape;
  std::int64_t bytes = 0;
};
std::vector<Entry> list(const std::string& path);

}  // namespace lockstep::checkpoint
