//! Operands, one script a case.

use super::both::Both;
use assay_testkit::{Mount, Scratch, or_skip, text};

fn compare(scripts: &[&str]) {
    assay_testkit::needs!("dd");
    let both = Both::new();
    for script in scripts {
        both.compare(script);
    }
}

#[test]
fn blocks_counts_and_places() {
    compare(&[
        "dd if=in of=out",
        "dd if=in of=out bs=1000",
        "dd if=in of=out bs=700",
        "dd if=in of=out ibs=100 obs=700",
        "dd if=in of=out ibs=700 obs=100",
        "dd if=in of=out obs=1M",
        "dd if=in of=out bs=1c count=1",
        "dd if=in of=out bs=1000c count=1",
        "dd if=in of=out bs=1023c count=1",
        "dd if=in of=out bs=1024c count=1",
        "dd if=in of=out bs=2x100",
        "dd if=in of=out bs=1w count=3",
        "dd if=in of=out bs=1b count=2",
        "dd if=in of=out count=2",
        "dd if=in of=out count=700B",
        "dd if=in of=out count=1kB bs=300",
        "dd if=in of=out count=700 iflag=count_bytes",
        "dd if=in of=out count=0",
        "dd if=in of=old count=0",
        "dd if=in of=old count=0 conv=notrunc",
        "dd if=in of=out skip=2",
        "dd if=in of=out iseek=2 bs=600",
        "dd if=in of=out skip=100B",
        "dd if=in of=out skip=100 iflag=skip_bytes count=3 bs=7",
        "dd if=in of=out skip=6",
        "dd if=in of=out skip=10",
        "dd if=in of=out skip=3000B",
        "dd if=in of=out skip=5000B status=none",
        "cat in | dd of=out skip=5",
        "cat in | dd of=out skip=10",
        "cat in | dd of=out skip=100B bs=1000 iflag=fullblock",
        "dd of=out skip=1 < in",
        "(dd bs=100 count=3 of=first; dd bs=1000 of=second) < in",
        "dd if=in of=old seek=1",
        "dd if=in of=old seek=1 conv=notrunc",
        "dd if=in of=old oseek=3B bs=10 count=2",
        "dd if=in of=old seek=3 oflag=seek_bytes count=1",
        "dd if=in of=out seek=10",
        "dd if=/dev/null of=out seek=10",
        "dd if=in of=/dev/null seek=3",
        "dd if=in seek=2 > out",
        "dd if=in seek=2 | cat; true",
        "dd if=in of=old oflag=append",
        "dd if=in of=old oflag=append conv=notrunc",
        "dd if=in >> old",
    ]);
}

#[test]
fn conversions() {
    compare(&[
        "dd if=all of=out conv=ascii",
        "dd if=all of=out conv=ebcdic",
        "dd if=all of=out conv=ibm",
        "dd if=all of=out conv=lcase",
        "dd if=all of=out conv=ucase,swab",
        "dd if=all of=out conv=ebcdic,ucase",
        "dd if=all of=out conv=ascii,lcase",
        "dd if=in of=out conv=swab ibs=7 obs=5",
        "dd if=in of=out conv=swab bs=1001",
        "dd if=in of=out conv=swab,sync bs=4k",
        "dd if=lines of=out conv=block cbs=5",
        "dd if=lines of=out conv=block cbs=3",
        "dd if=lines of=out conv=block cbs=17 ibs=4 obs=3",
        "dd if=lines of=out conv=block cbs=17 bs=4",
        "dd if=lines of=out conv=block",
        "dd if=lines of=out conv=ebcdic cbs=8",
        "dd if=lines of=mid conv=ebcdic cbs=8 && dd if=mid of=out conv=ascii cbs=8",
        "dd if=records of=out conv=unblock cbs=6",
        "dd if=records of=out conv=unblock cbs=5 ibs=4",
        "dd if=records of=out conv=unblock,ucase cbs=7 bs=3",
        "dd if=/dev/null of=out conv=unblock cbs=4",
        "dd if=lines of=out conv=sync ibs=20",
        "dd if=lines of=out conv=sync,block cbs=5 ibs=20",
        "dd if=lines of=out conv=sync bs=20",
    ]);
}

#[test]
fn pipes_and_short_reads() {
    const SLOW: &str = "(printf aa; sleep 0.3; printf b; sleep 0.3; printf ccc)";
    let scripts = [
        "dd of=out bs=10 count=2",
        "dd of=out bs=10 count=3",
        "dd bs=10 count=2 status=noxfer",
        "dd of=out bs=10 count=2 iflag=fullblock",
        "dd of=out ibs=2 obs=4",
        "dd of=out bs=10 conv=sync",
        "dd of=out bs=2",
        "dd of=out skip=1 bs=2",
        "dd of=out status=none bs=10 count=9",
    ]
    .map(|dd| format!("{SLOW} | {dd}"));
    let mut scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    scripts.extend([
        "(sleep 0.2; printf a; sleep 0.2; printf bb) | dd of=out bs=10 count=2",
        "cat big | dd | cat",
        "cat big | dd bs=64k iflag=fullblock | cat",
        "dd if=big bs=1M | head -c 10",
        "dd if=/dev/zero bs=64k | head -c 10 | wc -c",
        "mkfifo pipe; cat in > pipe & dd if=pipe of=out; wait",
        "mkfifo pipe; cat pipe > out & dd if=in of=pipe bs=100; wait",
    ]);
    compare(&scripts);
}

#[test]
fn progress_is_told_once_a_second() {
    const SLOWER: &str = "(printf a; sleep 1.4; printf b; sleep 1; printf c)";
    let scripts = [
        "dd of=out bs=1 status=progress",
        "dd of=out bs=1 status=progress conv=fsync",
        "dd of=out bs=1 status=progress conv=fdatasync count=2",
        "dd of=/dev/full bs=2 status=progress iflag=fullblock",
    ]
    .map(|dd| format!("{SLOWER} | {dd}"));
    compare(&scripts.each_ref().map(String::as_str));
}

#[test]
fn a_full_file_system() {
    assay_testkit::needs!(root, "dd");
    let both = Both::new();
    let folder = Scratch::new().expect("a folder");
    let full = or_skip!(Mount::tmpfs(1, &folder.join("full")));
    let out = full.point().join("out");
    let of = format!("of={}", text(&out));
    for operands in [
        "bs=300k",
        "bs=1M",
        "obs=300k",
        "bs=64k conv=fsync",
        "bs=64k seek=15",
    ] {
        let size = format!("stat -c %s {}", text(&out));
        both.compare(&format!(
            "dd if=/dev/zero {of} {operands}; {size}; rm {}",
            text(&out)
        ));
    }
}

#[test]
fn holes_direct_tails_and_flushes() {
    compare(&[
        "dd if=holes of=sparse conv=sparse",
        "dd if=holes of=sparse conv=sparse bs=4k",
        "dd if=holes of=sparse conv=sparse bs=64k",
        "dd if=holes of=sparse conv=sparse,notrunc bs=4k count=3",
        "dd if=holes bs=4k conv=sparse | cat",
        "dd if=/dev/zero of=sparse conv=sparse bs=1M count=1",
        "cp holes sparse; dd if=in of=sparse seek=100 conv=sparse",
        "dd if=big of=out bs=4k oflag=direct",
        "dd if=big of=out bs=1M oflag=direct iflag=fullblock",
        "dd if=big of=out bs=64k iflag=direct",
        "dd if=big of=out bs=4k oflag=dsync count=3",
        "dd if=big of=out bs=4k oflag=sync conv=fsync",
        "dd if=big of=out bs=4k conv=fdatasync,fsync",
        "dd if=big of=out oflag=nocache iflag=nocache bs=64k",
        "dd if=big of=old oflag=nocache count=0 conv=notrunc",
        "dd if=big iflag=nocache count=0",
        "cat in | dd iflag=nocache count=0",
        "dd if=in of=/dev/null conv=fsync",
        "cat in | dd conv=fdatasync | cat",
        "dd if=in of=out status=progress",
        "dd if=in of=out iflag=noatime oflag=nonblock,noctty",
    ]);
}

#[test]
fn what_goes_wrong() {
    compare(&[
        "dd if=missing of=out",
        "dd if=in of=missing/out",
        "dd if='a b' of=out",
        "dd if=\"it's\" of=out",
        "dd if=in of=out conv=nocreat",
        "dd if=in of=old conv=nocreat",
        "dd if=in of=old conv=excl",
        "dd if=in of=out conv=excl",
        "dd if=. of=out",
        "dd if=. of=out conv=noerror,sync count=3",
        "dd if=. of=out status=none",
        "dd if=in of=.",
        "dd if=in iflag=directory of=out",
        "dd if=in iflag=directory of=out < in",
        "ln -s in link; dd if=link iflag=nofollow of=out",
        "dd if=in of=/dev/full",
        "dd if=in of=/dev/full bs=1k",
        "dd if=in of=/dev/full obs=4k",
        "dd if=in of=/dev/full status=none",
        "dd if=in of=out seek=9223372036854775807",
        "dd if=in of=out seek=9223372036854775807 conv=notrunc",
        "dd if=in of=out seek=100T bs=1 count=1",
        "dd if=in of=out skip=9223372036854775807",
        "dd if=in of=out bs=1T",
        "dd if=in of=out ibs=1T status=none",
        "dd if=/proc/self/mem of=out",
        "dd if=in of=old oflag=append seek=2",
    ]);
}

#[test]
fn wrong_operands() {
    let words = [
        "foo",
        "foo=1",
        "=",
        "bs",
        "bs=0",
        "bs=1x",
        "bs=1Q",
        "cbs=0",
        "count=",
        "count=B",
        "count=-1",
        "count=1KBB",
        "ibs=99999999999999999999",
        "skip=9223372036854775808",
        "conv=foo",
        "conv=",
        "conv=sync,,swab",
        "conv=lcase,ucase",
        "conv=excl,nocreat",
        "conv=ascii,ebcdic",
        "conv=block,unblock",
        "conv=block,unblock cbs=4",
        "conv=ascii cbs=4 conv=block",
        "iflag=direct,nocache",
        "oflag=direct,nocache",
        "iflag=foo",
        "oflag=foo",
        "oflag=fullblock",
        "status=foo",
        "status=none,progress",
        "count=0x10",
        "bs=0x10",
        "bs=0x10k",
        "skip=0x1 ibs=0x1 obs=2",
        "skip=0x1 foo",
        "'conv=a\nb'",
        "\"it's\"",
        "files=1",
        "--foo",
        "-x",
        "-- --help",
        "oflag=append",
        "iflag=cio",
    ];
    let scripts = words.map(|word| format!("dd if=/dev/null of=out {word}"));
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    compare(&scripts);
}

/// Words that got lost are an error, although the copy is made.
#[test]
fn standard_error_that_is_full() {
    compare(&[
        "dd if=in of=out 2> /dev/full",
        "dd if=in of=out status=none 2> /dev/full",
        "dd if=missing of=out 2> /dev/full",
        "dd if=in bs=foo of=out 2> /dev/full",
    ]);
}

#[test]
fn names_of_folders_need_not_be_utf_8() {
    const THERE: &str = "there=$(printf 'a\\377'); mkdir $there; cd $there;";
    let scripts = [
        "dd if=../in of=out; cat out",
        "dd if=../in > out; cat out",
        "cp ../in in; dd if=in of=/dev/null",
        "cat ../in | dd of=../out",
    ]
    .map(|script| format!("{THERE} {script}"));
    compare(&scripts.each_ref().map(String::as_str));
}
