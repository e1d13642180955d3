// SPDX-License-Identifier: MIT
#include "tensor/op_context.hpp"

#include "tensor/detail/overrides.hpp"

namespace lockstep {
namespace {

thread_local OpContext* current = nullptr;

}  // namespace

OpContextScope::OpContextScope(OpContext& context) : outer_(current) {
  install_op_overrides();
  current = &context;
}

OpContextScope::~OpContextScope() { current = outer_; }

OpContext* current_op_context() { return current; }

Recomputation::Recomputation(OpContext& context, OpContext::Mark mark)
    : context_(context), resume_(context.mark()), outer_recomputing_(context.recomputing) {
  context_.rewind(mark);
  context_.recomputing = true;
}

Recomputation::~Recomputation() {
  context_.rewind(resume_);
  context_.recomputing = outer_recomputing_;
}

void install_op_overrides() {
  detail::install_batch_norm_override();
  detail::install_dropout_override();
}

}  // namespace lockstep
