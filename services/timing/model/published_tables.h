// The published measurements of data/, put into the binary by the build, and a reader for them.
#pragma once

#include <string_view>
#include <vector>

namespace eidolon::timing::model {

std::string_view GemmTableCsv();
std::string_view GemmScalesCsv();
std::string_view GemmSmoothCsv();
std::string_view GemmNoiseFloorCsv();
std::string_view GemmTransferCsv();
std::string_view GemmWavesCsv();
std::string_view AttentionTableCsv();

using CsvRow = std::vector<std::string_view>;

// Rows after the header; lines that start with # are skipped. Ends the process when a row does not
// have `columns` cells: the tables are our own.
std::vector<CsvRow> CsvRows(std::string_view csv, std::size_t columns);
// A cell as a number; ends the process when it is none.
double CsvNumber(std::string_view cell);

}  // namespace eidolon::timing::model
