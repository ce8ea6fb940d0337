//! Output of `assay dd --help`.

/// The text.
pub const HELP: &str = "\
Usage: assay dd [OPTION]... [OPERAND]...
Copies like GNU dd, and says what the rate measured: one more line on standard
error tells how much had reached the device when the clock stopped. The run is
kept (assay list).

Options of assay's own:
  --trials N       copy N times (not from a pipe or a terminal)
  --ladder         write of=FILE in four ways - plain, conv=fdatasync,
                   oflag=direct, oflag=dsync - and explain them
  --destroy-data   let --ladder overwrite what is there
  --json           print the run as JSON on standard output
  --store FILE     file that keeps the runs
  --name NAME      name of the run; --tag TAG, --note TEXT: its tags and note
  --help           this text
  --version        the version

Operands, as GNU dd has them:
  if=FILE of=FILE           instead of standard input and output
  bs=N                      read and write up to N bytes at a time
  ibs=N obs=N               the same apart (512)
  cbs=N                     length of a record for block and unblock
  count=N                   copy only N input blocks
  skip=N iseek=N            leave out N input blocks
  seek=N oseek=N            leave out N output blocks
  conv=WORD,...             ascii ebcdic ibm block unblock lcase ucase sparse
                            swab sync excl nocreat notrunc noerror fdatasync
                            fsync
  iflag=WORD,... oflag=WORD,...
                            append direct directory dsync sync nonblock noatime
                            nocache noctty nofollow; iflag only: fullblock
                            count_bytes skip_bytes; oflag only: seek_bytes
  status=none|noxfer|progress
                            with none there is no line of evidence either

N may have a suffix: c=1 w=2 b=512 kB=1000 K=KiB=1024 MB=1000*1000 M=MiB=1024*1024
and so on for G T P E; AxB is a product. count, skip and seek count bytes if N
ends in B. Naming a device as of= is the word that its data may go; a device in
use is refused.

SIGUSR1 prints the statistics so far. Exit codes: 0 done, 1 failed, 2 refused by
assay.
";
