//! What a step does, by its word.

use super::keys::{Keys, Mistake, meant};
use assay_model::condition::FileSystem;
use assay_model::job::FlushCall;
use assay_model::units::{Bytes, KIB, MIB};
use assay_model::work::androbench::{DatabasePhase, Journal, Schema, Statement, Synchronous};
use assay_model::work::scenario::{
    Command, Copying, DEVICE, Deed, Filling, Reading, Sync, Tree, TreeAct, Verifying, Writing,
};
use std::path::{Component, Path};

/// All words, as they are listed when one is not known.
const WORDS: [&str; 20] = [
    "write",
    "read",
    "copy",
    "verify",
    "log",
    "create-files",
    "read-files",
    "stat-files",
    "delete-files",
    "database",
    "inflate",
    "discard",
    "format",
    "delete",
    "fill",
    "command",
    "pause",
    "drop-caches",
    "parallel",
    "series",
];
/// The most files, lines or transactions of a step.
const MOST: u64 = 10_000_000;
/// Block of whole files, and of small ones.
const BLOCK: u64 = MIB;
const SMALL_BLOCK: u64 = 128 * KIB;
/// A line of a log.
const LINE: u64 = 200;
/// What a command may take.
const LIMIT_NS: u64 = 60_000_000_000;

/// What a step does, and the block of its operations, where they are blocks.
pub fn read(keys: &Keys<'_>, kind: &str) -> Result<(Deed, Option<u64>), Mistake> {
    let deed = match kind {
        "write" => Deed::Write(writing(keys)?),
        "log" => Deed::Write(log(keys)?),
        "read" => Deed::Read(reading(keys)?),
        "copy" => Deed::Copy(copying(keys)?),
        "verify" => Deed::Verify(verifying(keys)?),
        "create-files" => Deed::Tree(tree(keys, TreeAct::Create)?),
        "read-files" => Deed::Tree(tree(keys, TreeAct::Read)?),
        "stat-files" => Deed::Tree(tree(keys, TreeAct::Stat)?),
        "delete-files" => Deed::Tree(tree(keys, TreeAct::Delete)?),
        "database" => Deed::Database(database(keys)?),
        "inflate" => Deed::Inflate {
            bytes: needed_size(keys, "size")?,
        },
        "discard" => Deed::Discard {
            file: file(keys, "file")?,
        },
        "format" => Deed::Format {
            kind: format(keys)?,
        },
        "delete" => Deed::Delete {
            file: file(keys, "file")?,
        },
        "fill" => Deed::Fill(filling(keys)?),
        "command" => Deed::Command(command(keys)?),
        "pause" => Deed::Pause {
            time_ns: keys
                .time("time")?
                .ok_or_else(|| keys.mistake("time is missing"))?,
        },
        "drop-caches" => Deed::DropCaches,
        _ => {
            let meant = meant(kind, &WORDS);
            let why = format!(
                "nothing is called {kind}{meant}; there is {}",
                WORDS.join(", ")
            );
            return Err(keys.mistake_in("do", why));
        }
    };
    let block = match &deed {
        Deed::Write(spec) => Some(spec.block),
        Deed::Read(spec) => Some(spec.block),
        Deed::Copy(spec) => Some(spec.block),
        Deed::Verify(spec) => Some(spec.block),
        _ => None,
    };
    Ok((deed, block))
}

/// A path inside the scenario's folder, or the scratch device.
fn file(keys: &Keys<'_>, key: &'static str) -> Result<String, Mistake> {
    let name = keys.needed(key)?;
    let mut parts = Path::new(&name).components();
    let inside = !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)));
    match name == DEVICE || inside && !name.starts_with('@') {
        true => Ok(name),
        false => Err(keys.mistake_in(
            key,
            format!("{name} is neither a path inside the scenario's folder nor {DEVICE}"),
        )),
    }
}

fn needed_size(keys: &Keys<'_>, key: &'static str) -> Result<u64, Mistake> {
    let size = keys.size(key)?;
    size.ok_or_else(|| keys.mistake(format!("{key} is missing")))
}

fn block(keys: &Keys<'_>, usual: u64) -> Result<u64, Mistake> {
    let block = keys.size("block")?.unwrap_or(usual);
    match block {
        ..=0x1000_0000 => Ok(block),
        _ => Err(keys.mistake_in("block", "at most 256M")),
    }
}

fn random(keys: &Keys<'_>) -> Result<bool, Mistake> {
    let words = [("sequential", false), ("random", true)];
    Ok(keys.word("order", &words)?.unwrap_or(false))
}

/// Direct I/O is of whole sectors.
fn direct(keys: &Keys<'_>, block: u64) -> Result<bool, Mistake> {
    let direct = keys.flag("direct")?;
    match direct && !block.is_multiple_of(4096) {
        true => Err(keys.mistake_in("direct", "its block is to be a multiple of 4K")),
        false => Ok(direct),
    }
}

/// `none`, `each`, `each-fsync`, `end`, or `every 16M`.
fn sync(keys: &Keys<'_>, usual: Sync) -> Result<Sync, Mistake> {
    let sync = keys.parsed("sync", "a text in quotes", |text| {
        Ok(match text {
            "none" => Sync::None,
            "each" => Sync::Each(FlushCall::Fdatasync),
            "each-fsync" => Sync::Each(FlushCall::Fsync),
            "end" => Sync::AtEnd,
            _ => {
                let size = text.strip_prefix("every ").map(str::parse::<Bytes>);
                match size {
                    Some(Ok(Bytes(size))) if size > 0 => Sync::EveryBytes(size),
                    _ => {
                        return Err(format!(
                            "{text} is none of none, each, each-fsync, end, and \"every 16M\""
                        ));
                    }
                }
            }
        })
    })?;
    Ok(sync.unwrap_or(usual))
}

fn writing(keys: &Keys<'_>) -> Result<Writing, Mistake> {
    let block = block(keys, BLOCK)?;
    let holes = keys.number("holes", (0, 99))?.unwrap_or(0);
    Ok(Writing {
        file: file(keys, "file")?,
        bytes: needed_size(keys, "size")?,
        block,
        random: random(keys)?,
        append: keys.flag("append")?,
        direct: direct(keys, block)?,
        sync: sync(keys, Sync::AtEnd)?,
        holes_percent: u8::try_from(holes).unwrap_or(0),
    })
}

/// Lines that are appended, each made durable.
fn log(keys: &Keys<'_>) -> Result<Writing, Mistake> {
    let line = keys.size("line")?.unwrap_or(LINE);
    let lines = keys.number("lines", (1, MOST))?;
    let lines = lines.ok_or_else(|| keys.mistake("lines is missing"))?;
    Ok(Writing {
        file: file(keys, "file")?,
        bytes: lines.saturating_mul(line),
        block: line,
        random: false,
        append: true,
        direct: false,
        sync: sync(keys, Sync::Each(FlushCall::Fsync))?,
        holes_percent: 0,
    })
}

fn reading(keys: &Keys<'_>) -> Result<Reading, Mistake> {
    let block = block(keys, BLOCK)?;
    Ok(Reading {
        file: file(keys, "file")?,
        bytes: keys.size("size")?,
        block,
        random: random(keys)?,
        direct: direct(keys, block)?,
        cold: !keys.flag("warm")?,
    })
}

fn copying(keys: &Keys<'_>) -> Result<Copying, Mistake> {
    let block = block(keys, BLOCK)?;
    let inflate = keys.number("inflate", (0, 10_000))?.unwrap_or(0);
    let copying = Copying {
        from: file(keys, "from")?,
        to: file(keys, "to")?,
        block,
        inflate_percent: u32::try_from(inflate).unwrap_or(0),
        sync: sync(keys, Sync::AtEnd)?,
        direct: direct(keys, block)?,
    };
    match copying.from == copying.to {
        true => Err(keys.mistake_in("to", "it is the file that is read")),
        false => Ok(copying),
    }
}

fn verifying(keys: &Keys<'_>) -> Result<Verifying, Mistake> {
    let block = block(keys, BLOCK)?;
    Ok(Verifying {
        file: file(keys, "file")?,
        block,
        direct: direct(keys, block)?,
    })
}

fn tree(keys: &Keys<'_>, act: TreeAct) -> Result<Tree, Mistake> {
    let files = keys.number("files", (1, MOST))?;
    let files = files.map(|files| u32::try_from(files).unwrap_or(u32::MAX));
    let folder = file(keys, "in")?;
    if folder == DEVICE {
        return Err(keys.mistake_in("in", "there are no files on the bare device"));
    }
    let makes = act == TreeAct::Create;
    if makes && files.is_none() {
        return Err(keys.mistake("files is missing"));
    }
    let sizes = match makes {
        true => keys.sizes("size")?,
        false => None,
    };
    if makes && sizes.is_none() {
        return Err(keys.mistake("size is missing: one, or [\"smallest\", \"largest\"]"));
    }
    let reads = act == TreeAct::Read;
    Ok(Tree {
        folder,
        act,
        files,
        sizes: sizes.unwrap_or((0, 0)),
        block: match makes || reads {
            true => block(keys, SMALL_BLOCK)?,
            false => SMALL_BLOCK,
        },
        random: !makes && random(keys)?,
        chained: reads && keys.flag("chained")?,
        cold: reads && !keys.flag("warm")?,
        sync: match makes || act == TreeAct::Delete {
            true => sync(keys, Sync::AtEnd)?,
            false => Sync::None,
        },
    })
}

fn database(keys: &Keys<'_>) -> Result<DatabasePhase, Mistake> {
    let transactions = keys.number("transactions", (1, MOST))?;
    let transactions = transactions.ok_or_else(|| keys.mistake("transactions is missing"))?;
    let words = Journal::ALL.map(|journal| (journal.name(), journal));
    let journal = keys.word("journal", &words)?.unwrap_or(Journal::Wal);
    let words = Synchronous::ALL.map(|level| (level.name(), level));
    let synchronous = keys.word("synchronous", &words)?;
    let words = Statement::ALL.map(|statement| (statement.name(), statement));
    let statement = keys.word("statement", &words)?.unwrap_or_default();
    Ok(DatabasePhase {
        schema: Schema::AndroBench,
        journal,
        synchronous: synchronous.unwrap_or(Synchronous::Full),
        transactions,
        statements: vec![statement],
        checkpoint: false,
    })
}

fn format(keys: &Keys<'_>) -> Result<String, Mistake> {
    let kind = keys.parsed("kind", "a text in quotes", |text| {
        FileSystem::parse(text)
            .map(|_| text.to_owned())
            .ok_or_else(|| format!("{text} is no file system: write KIND or KIND:OPTION+OPTION"))
    })?;
    Ok(kind.unwrap_or_else(|| "ext4".to_owned()))
}

fn filling(keys: &Keys<'_>) -> Result<Filling, Mistake> {
    let percent = keys.number("to", (1, 99))?;
    let percent = percent.ok_or_else(|| keys.mistake("to is missing, in percent"))?;
    Ok(Filling {
        percent: u8::try_from(percent).unwrap_or(99),
        write_at_most: keys.size("write_at_most")?.unwrap_or(4 << 30),
    })
}

fn command(keys: &Keys<'_>) -> Result<Command, Mistake> {
    let run = keys.texts("run")?;
    let shell = keys.text("shell")?;
    let words = match (run, shell) {
        (Some(words), None) if words.iter().any(|word| !word.is_empty()) => words,
        (None, Some(line)) => vec!["sh".to_owned(), "-c".to_owned(), line],
        _ => {
            return Err(keys.mistake(
                "one of run = [\"PROGRAM\", \"ARGUMENT\"] and shell = \"LINE\" is wanted",
            ));
        }
    };
    Ok(Command {
        words,
        limit_ns: keys.time("limit")?.unwrap_or(LIMIT_NS),
    })
}
