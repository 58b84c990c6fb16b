// Where a request says it comes from and to whom it speaks. A page of the web must not reach a
// server on loopback under a name of its own (DNS rebinding), nor send requests to it from
// elsewhere: jobs run commands.
#pragma once

#include <string_view>

namespace eidolon::controller::rest {

// Returns whether a host means this machine and nothing else: localhost, four numbers that begin
// with 127, ::1, with or without brackets, in any case. "127.example.org" does not.
bool IsLoopback(std::string_view host);

// The host of a Host header, without its port: "[::1]:8080" has "[::1]".
std::string_view HostOf(std::string_view header);

// Returns whether the value of an Origin header is the server itself, as its Host header names it;
// never for "null", which sandboxed pages and files send.
bool IsSameOrigin(std::string_view origin, std::string_view host_header);

}  // namespace eidolon::controller::rest
