# Writes OUT, a source that defines one function for each table of the folder DATA:
# gemm_table.csv becomes GemmTableCsv().
file(GLOB files ${DATA}/*.csv)
list(SORT files)
set(functions)
foreach(file ${files})
  file(READ ${file} text)
  get_filename_component(stem ${file} NAME_WE)
  string(REPLACE "_" ";" words ${stem})
  set(name)
  foreach(word ${words})
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND name ${first}${rest})
  endforeach()
  string(APPEND functions "std::string_view ${name}Csv() {\n  return R\"eidolon(${text})eidolon\";\n}\n\n")
endforeach()
file(WRITE ${OUT} "#include \"services/timing/model/published_tables.h\"

namespace eidolon::timing::model {

${functions}}  // namespace eidolon::timing::model
")
