// SPDX-License-Identifier: MIT
// HDF5's types and lists as the files of this room need them.
#pragma once

#include <optional>
#include <string>

#include "io/hdf5.hpp"

namespace lockstep::io::detail {

hid_t native_type(H5Type type);
/// Which of our types a stored type is, in native byte order; none for all others.
std::optional<H5Type> native_of(hid_t type);
/// A stored type in words: "uint8", "float32 big-endian", "compound".
std::string type_text(hid_t type);

inline H5Id property_list(hid_t of_class) { return H5Id(H5Pcreate(of_class)); }

}  // namespace lockstep::io::detail
