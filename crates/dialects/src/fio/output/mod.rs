//! A load's report in fio's formats.
