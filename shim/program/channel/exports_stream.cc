// Exports: reading and writing of descriptors, each as libc does it, with the time that the bytes
// carry. stdio writes inside of libc and does not pass here, and neither do splice, sendfile and
// io_uring: bytes that they move carry no time.
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#include "shim/program/channel/carried_time.h"
#include "shim/program/time/export.h"
#include "shim/program/time/next_function.h"

namespace {

namespace channel = eidolon::shim::channel;
using eidolon::shim::time::real::Next;

constinit Next<ssize_t (*)(int, void*, size_t)> next_read("read", nullptr);
constinit Next<ssize_t (*)(int, const iovec*, int)> next_readv("readv", nullptr);
constinit Next<ssize_t (*)(int, void*, size_t, int)> next_recv("recv", nullptr);
constinit Next<ssize_t (*)(int, void*, size_t, int, sockaddr*, socklen_t*)> next_recvfrom(
    "recvfrom", nullptr);
constinit Next<ssize_t (*)(int, msghdr*, int)> next_recvmsg("recvmsg", nullptr);
constinit Next<ssize_t (*)(int, void*, size_t, size_t)> next_read_chk("__read_chk", nullptr);
constinit Next<ssize_t (*)(int, void*, size_t, size_t, int)> next_recv_chk("__recv_chk", nullptr);
constinit Next<ssize_t (*)(int, const void*, size_t)> next_write("write", nullptr);
constinit Next<ssize_t (*)(int, const iovec*, int)> next_writev("writev", nullptr);
constinit Next<ssize_t (*)(int, const void*, size_t, int)> next_send("send", nullptr);
constinit Next<ssize_t (*)(int, const void*, size_t, int, const sockaddr*, socklen_t)> next_sendto(
    "sendto", nullptr);
constinit Next<ssize_t (*)(int, const msghdr*, int)> next_sendmsg("sendmsg", nullptr);

ssize_t NoteReceived(int file, ssize_t bytes, int flags = 0) {
  // Peeked bytes are still to be read.
  if ((flags & MSG_PEEK) == 0) channel::Received(file, bytes);
  return bytes;
}

template <typename Call>
ssize_t NoteSent(int file, size_t bytes, const Call& call) {
  channel::Sending sending(file, bytes);
  const ssize_t sent = call();
  sending.Ended(sent);
  return sent;
}

size_t SizeOf(const iovec* parts, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

}  // namespace

EIDOLON_TIME_EXPORT ssize_t read(int file, void* bytes, size_t size) {
  return NoteReceived(file, next_read.Get()(file, bytes, size));
}

EIDOLON_TIME_EXPORT ssize_t readv(int file, const iovec* parts, int count) {
  return NoteReceived(file, next_readv.Get()(file, parts, count));
}

EIDOLON_TIME_EXPORT ssize_t recv(int file, void* bytes, size_t size, int flags) {
  return NoteReceived(file, next_recv.Get()(file, bytes, size, flags), flags);
}

EIDOLON_TIME_EXPORT ssize_t recvfrom(int file, void* bytes, size_t size, int flags,
                                     sockaddr* address, socklen_t* length) {
  return NoteReceived(file, next_recvfrom.Get()(file, bytes, size, flags, address, length), flags);
}

EIDOLON_TIME_EXPORT ssize_t recvmsg(int file, msghdr* message, int flags) {
  return NoteReceived(file, next_recvmsg.Get()(file, message, flags), flags);
}

// Programs that were compiled with checks of sizes (_FORTIFY_SOURCE) call these.
EIDOLON_TIME_EXPORT ssize_t __read_chk(int file, void* bytes, size_t size, size_t room) {
  return NoteReceived(file, next_read_chk.Get()(file, bytes, size, room));
}

EIDOLON_TIME_EXPORT ssize_t __recv_chk(int file, void* bytes, size_t size, size_t room, int flags) {
  return NoteReceived(file, next_recv_chk.Get()(file, bytes, size, room, flags), flags);
}

EIDOLON_TIME_EXPORT ssize_t write(int file, const void* bytes, size_t size) {
  return NoteSent(file, size, [=] { return next_write.Get()(file, bytes, size); });
}

EIDOLON_TIME_EXPORT ssize_t writev(int file, const iovec* parts, int count) {
  const size_t size = count < 0 ? 0 : SizeOf(parts, static_cast<size_t>(count));
  return NoteSent(file, size, [=] { return next_writev.Get()(file, parts, count); });
}

EIDOLON_TIME_EXPORT ssize_t send(int file, const void* bytes, size_t size, int flags) {
  return NoteSent(file, size, [=] { return next_send.Get()(file, bytes, size, flags); });
}

EIDOLON_TIME_EXPORT ssize_t sendto(int file, const void* bytes, size_t size, int flags,
                                   const sockaddr* address, socklen_t length) {
  return NoteSent(file, size,
                  [=] { return next_sendto.Get()(file, bytes, size, flags, address, length); });
}

EIDOLON_TIME_EXPORT ssize_t sendmsg(int file, const msghdr* message, int flags) {
  return NoteSent(file, message == nullptr ? 0 : SizeOf(message->msg_iov, message->msg_iovlen),
                  [=] { return next_sendmsg.Get()(file, message, flags); });
}
