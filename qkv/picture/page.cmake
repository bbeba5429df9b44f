# The style and the script of the page, files of their own, become the bytes that page_parts.h declares. The order of the
# scripts is that of their use: they are one script in the page.
set(page_folder ${CMAKE_CURRENT_LIST_DIR}/page)
set(page_style page.css)
set(page_script data.js labels.js paint.js views.js detail.js input.js start.js)
list(TRANSFORM page_style PREPEND ${page_folder}/)
list(TRANSFORM page_script PREPEND ${page_folder}/)
