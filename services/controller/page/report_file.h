// A job's report as one file that opens from disk, without a server or a network: the page's own
// modules and style sheets with the job's data in between.
#pragma once

#include <string>
#include <string_view>

namespace eidolon::controller::page {

// The whole file. `data`: JSON of {job, whatIfs, version}, in ASCII. Its texts cannot end the
// element that holds them, and the policy of the file runs the bundle alone, by a nonce that
// depends on all of the content. Thread safe.
std::string ReportFile(std::string_view data);

}  // namespace eidolon::controller::page
