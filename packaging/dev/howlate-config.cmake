# The header howlate.h, which needs no library: find_package(howlate) and target_link_libraries(PROGRAM howlate::howlate).
if(NOT TARGET howlate::howlate)
  get_filename_component(_howlate_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(howlate::howlate INTERFACE IMPORTED)
  set_target_properties(howlate::howlate PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_howlate_prefix}/include")
  unset(_howlate_prefix)
endif()
