//! Database under test.

use crate::run::output;
use anyhow::Result;
use assay_testkit::Postgres;
use std::process::Command;

/// Database, and its server if it is private.
pub struct Server {
    url: String,
    _own: Option<Postgres>,
}

impl Server {
    /// Connects to the database of a URL, or else starts a private server that syncs its writes
    /// as in production.
    pub fn of(url: Option<&str>) -> Result<Self> {
        if let Some(url) = url {
            return Ok(Self {
                url: url.to_owned(),
                _own: None,
            });
        }
        let own = Postgres::start_durable()?;
        Ok(Self {
            url: own.url(&own.database()?),
            _own: Some(own),
        })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs statements, in which `:name` is replaced by a value. Returns the output of psql.
    pub fn sql(&self, sql: &str, values: &[(&str, u64)]) -> Result<String> {
        let mut psql = Command::new("psql");
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.arg("--set=ON_ERROR_STOP=1");
        for (name, value) in values {
            psql.arg(format!("--set={name}={value}"));
        }
        // psql replaces variables only in a script that it reads from a file.
        let script = tempfile::NamedTempFile::new()?;
        std::fs::write(script.path(), sql)?;
        psql.arg("--file").arg(script.path()).arg(&self.url);
        output(&mut psql)
    }
}
