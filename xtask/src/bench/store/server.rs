//! The database that is filled and asked.

use crate::run::output;
use anyhow::Result;
use assay_testkit::Postgres;
use std::process::Command;

/// A database, and its server if nobody named one.
pub struct Server {
    url: String,
    _own: Option<Postgres>,
}

impl Server {
    /// The database of a URL; without one, on a server of its own that writes as one in use does.
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

    /// Carries out statements, in which `:name` stands for a value; what psql prints.
    pub fn sql(&self, sql: &str, values: &[(&str, u64)]) -> Result<String> {
        let mut psql = Command::new("psql");
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.arg("--set=ON_ERROR_STOP=1");
        for (name, value) in values {
            psql.arg(format!("--set={name}={value}"));
        }
        // Values stand only in what is read from a file.
        let script = tempfile::NamedTempFile::new()?;
        std::fs::write(script.path(), sql)?;
        psql.arg("--file").arg(script.path()).arg(&self.url);
        output(&mut psql)
    }
}
