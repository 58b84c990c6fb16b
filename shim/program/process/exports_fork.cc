// vfork, whose child may be one that goes on (next_program.h). The child runs on its parent's
// stack, so that no function that calls it may return before it: this one leaves its place to
// libc's.
#include "shim/program/process/next_program.h"

extern "C" __attribute__((visibility("hidden"), used)) void* EidolonForkForChild() noexcept {
  return reinterpret_cast<void*>(eidolon::shim::process::ForkForChild());
}

#if defined(__x86_64__)
asm(R"(
  .text
  .globl vfork
  .type vfork, @function
vfork:
  .cfi_startproc
  endbr64
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call EidolonForkForChild
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  jmp *%rax
  .cfi_endproc
  .size vfork, . - vfork
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .globl vfork
  .type vfork, %function
vfork:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_adjust_cfa_offset 16
  bl EidolonForkForChild
  ldp x29, x30, [sp], #16
  .cfi_adjust_cfa_offset -16
  mov x16, x0
  br x16
  .cfi_endproc
  .size vfork, . - vfork
)");
#endif
