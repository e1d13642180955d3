// SPDX-License-Identifier: MIT
// Signals only set a flag; the training loop agrees on it at every step boundary.
#pragma once

namespace lockstep::launch {

/// What the outside asked for, the strongest first where several came.
enum class SignalRequest : int {
  kNone = 0,
  kSave = 1,         ///< USR2: save and go on
  kSaveAndStop = 2,  ///< USR1: save and stop (85)
  kStop = 3,         ///< TERM, INT: stop at once, no save is started
};

/// Installs the handlers for USR1, USR2, TERM and INT; the destructor restores what was there. One
/// at a time.
class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;
};

/// The strongest request since the last clear.
SignalRequest pending_signal();
/// Forgets a kSave request that was carried out; stop requests stay.
void clear_save_request();

}  // namespace lockstep::launch
