/** Names of the database roles. Roles are global in PostgreSQL, so names contain the database. */
export interface Roles {
  /** Signs in for requests. Its only right is to become `member`. */
  readonly app: string
  /** Reads and writes the rows of one organization. */
  readonly member: string
  /** Signs in for accounts and sessions, and owns their schema. */
  readonly auth: string
  /** Signs in for the job queue, and owns its schema. */
  readonly queue: string
}

export const rolesOf = (database: string): Roles => ({
  app: `${database}_app`,
  member: `${database}_member`,
  auth: `${database}_auth`,
  queue: `${database}_queue`,
})

export interface SchemaMigration {
  readonly name: string
  readonly sql: (roles: Roles) => string
}

/**
 * Isolates organizations: every table has the organization in its key and a forced policy. The policy
 * reads settings that a transaction sets at its start; without them, no row is visible. The settings
 * are signed, so that SQL inside the transaction cannot choose another organization.
 */
const isolated = (table: string, { member }: Roles): string => `
  alter table ${table} enable row level security;
  alter table ${table} force row level security;
  create policy own_rows on ${table} to ${member}
    using (org = (select current_org()))
    with check (org = (select current_org()));
  create policy no_writes_by_viewers on ${table} as restrictive for insert to ${member}
    with check ((select current_setting('retake.role', true)) <> 'viewer');
  create policy no_changes_by_viewers on ${table} as restrictive for update to ${member}
    using ((select current_setting('retake.role', true)) <> 'viewer');
  create policy no_removal_by_viewers on ${table} as restrictive for delete to ${member}
    using ((select current_setting('retake.role', true)) <> 'viewer');
  grant select, insert, update, delete on ${table} to ${member};
`

/** Schema migrations, in order. A released migration never changes. */
export const migrations: readonly SchemaMigration[] = [
  {
    name: 'first',
    sql: (roles) => `
      /** The secret that signs the settings of a transaction. No role of the server may read it. */
      create table gate (secret text not null);
      create function current_org() returns text
        language sql stable security definer set search_path = retake, pg_temp
        as $$
          select current_setting('retake.org', true) from gate
          where current_setting('retake.proof', true) = encode(sha256(convert_to(
            secret || '|' || current_setting('retake.org', true)
              || '|' || current_setting('retake.role', true) || '|' || secret, 'UTF8')), 'hex')
        $$;
      revoke all on function current_org() from public;
      grant execute on function current_org() to ${roles.member};

      create table project (
        org text not null,
        id text not null,
        slug text not null,
        name text not null,
        created_at timestamptz not null default now(),
        /** Days that runs are kept; null: forever. */
        retention_days integer,
        badge_token text not null,
        primary key (org, id),
        unique (org, slug)
      );
      ${isolated('project', roles)}

      create table run (
        org text not null,
        project text not null,
        id text not null,
        /** SHA-256 of the tape. */
        digest text not null,
        bytes bigint not null,
        name text not null,
        started_at timestamptz not null,
        status text not null,
        steps integer not null,
        events integer not null,
        duration_ms double precision not null,
        cost_usd double precision,
        tokens bigint,
        models text[] not null default '{}',
        tools text[] not null default '{}',
        input text,
        failure text,
        last_line text,
        /** Failures with the same cause share it. */
        cluster text,
        parent text,
        branch_kind text,
        tags text[] not null default '{}',
        note text,
        pushed_by text not null,
        pushed_at timestamptz not null,
        search tsvector not null,
        primary key (org, project, id),
        foreign key (org, project) references project (org, id) on delete cascade
      );
      create index run_newest on run (org, project, started_at desc, id desc);
      create index run_status on run (org, project, status, started_at desc);
      create index run_cluster on run (org, project, cluster, started_at desc) where cluster is not null;
      create index run_parent on run (org, project, parent) where parent is not null;
      create index run_tags on run using gin (tags);
      create index run_search on run using gin (search);
      ${isolated('run', roles)}

      /** Stored files that runs use; counted once per organization. */
      create table run_file (
        org text not null,
        project text not null,
        run text not null,
        name text not null,
        digest text not null,
        bytes bigint not null,
        primary key (org, project, run, name),
        foreign key (org, project, run) references run (org, project, id) on delete cascade
      );
      create index run_file_digest on run_file (org, digest);
      ${isolated('run_file', roles)}

      create table comment (
        org text not null,
        id text not null,
        project text not null,
        run text not null,
        step text,
        author text not null,
        text text not null,
        at timestamptz not null default now(),
        primary key (org, id),
        foreign key (org, project, run) references run (org, project, id) on delete cascade
      );
      create index comment_run on comment (org, project, run, at);
      ${isolated('comment', roles)}

      create table saved_filter (
        org text not null,
        project text not null,
        name text not null,
        query text not null,
        author text not null,
        primary key (org, project, name),
        foreign key (org, project) references project (org, id) on delete cascade
      );
      ${isolated('saved_filter', roles)}

      create table api_key (
        org text not null,
        id text not null,
        name text not null,
        /** SHA-256 of the key. */
        hash text not null unique,
        /** The first characters, so that people recognize it. */
        shown text not null,
        /** Null: all projects. */
        project text,
        scopes text[] not null,
        created_by text not null,
        created_at timestamptz not null default now(),
        expires_at timestamptz,
        used_at timestamptz,
        primary key (org, id),
        foreign key (org, project) references project (org, id) on delete cascade
      );
      ${isolated('api_key', roles)}

      /** Privileged actions. Rows are only added. */
      create table audit (
        org text not null,
        id bigint generated always as identity,
        at timestamptz not null default now(),
        actor text not null,
        action text not null,
        target text not null,
        details jsonb not null default '{}',
        primary key (org, id)
      );
      ${isolated('audit', roles)}
      revoke update, delete on audit from ${roles.member};

      create table job (
        org text not null,
        id text not null,
        project text not null,
        run text not null,
        kind text not null,
        options jsonb not null default '{}',
        state text not null,
        created_by text not null,
        created_at timestamptz not null default now(),
        started_at timestamptz,
        ended_at timestamptz,
        worker text,
        attempts integer not null default 0,
        /** Attempts that a stopping worker gave back. */
        releases integer not null default 0,
        /** Progress that the command reports. */
        progress text,
        result jsonb,
        primary key (org, id),
        foreign key (org, project) references project (org, id) on delete cascade
      );
      create index job_newest on job (org, created_at desc);
      create index job_run on job (org, project, run, created_at desc);
      ${isolated('job', roles)}

      /** The model that jobs may use. */
      create table model_endpoint (
        org text not null primary key,
        base_url text not null,
        provider text not null,
        /** Encrypted with a key of the organization. */
        sealed_key text not null,
        models jsonb not null,
        job_usd double precision not null,
        month_usd double precision not null,
        set_by text not null,
        set_at timestamptz not null
      );
      ${isolated('model_endpoint', roles)}

      /** Dollars that jobs spent on it. */
      create table model_spending (
        org text not null,
        month text not null,
        job text not null,
        usd double precision not null,
        primary key (org, month, job)
      );
      create index model_spending_job on model_spending (org, job);
      ${isolated('model_spending', roles)}

      create table webhook (
        org text not null,
        id text not null,
        url text not null,
        /** Signs deliveries. */
        secret text not null,
        events text[] not null,
        created_by text not null,
        primary key (org, id)
      );
      ${isolated('webhook', roles)}

      create table notification_choice (
        org text not null,
        user_id text not null,
        event text not null,
        mode text not null,
        primary key (org, user_id, event)
      );
      ${isolated('notification_choice', roles)}

      /** Notices sent to people and webhooks. */
      create table notice (
        org text not null,
        id text not null,
        event text not null,
        project text not null,
        run text not null,
        title text not null,
        text text not null,
        path text not null,
        at timestamptz not null default now(),
        primary key (org, id)
      );
      ${isolated('notice', roles)}

      create table delivery (
        org text not null,
        id text not null,
        notice text not null,
        /** \`mail\` to a person, or \`webhook\`. */
        channel text not null,
        target text not null,
        due_at timestamptz not null,
        attempts integer not null default 0,
        state text not null,
        error text,
        primary key (org, id),
        foreign key (org, notice) references notice (org, id) on delete cascade
      );
      create index delivery_due on delivery (org, due_at) where state = 'waiting';
      ${isolated('delivery', roles)}

      create table waiting_approval (
        org text not null,
        project text not null,
        id text not null,
        run text not null,
        request jsonb not null,
        requested_at timestamptz not null default now(),
        expires_at timestamptz not null,
        decision text,
        decided_by text,
        decided_at timestamptz,
        reason text,
        /** Made with the decision, so that a changed row is noticed. */
        signature text,
        primary key (org, project, id),
        foreign key (org, project) references project (org, id) on delete cascade
      );
      ${isolated('waiting_approval', roles)}

      /** Storage of an organization, with results of jobs. A view with the rights of its reader. */
      create view storage_used with (security_invoker = true) as
        select org, sum(bytes)::bigint as bytes
        from (
          select org, digest, bytes from run_file
          union
          select org, file->>'digest', (file->>'bytes')::bigint
          from job, jsonb_array_elements(
            case when jsonb_typeof(result->'files') = 'array' then result->'files' else '[]' end
          ) file
          where file->>'bytes' ~ '^[0-9]{1,15}$'
        ) as files
        group by org;
      grant select on storage_used to ${roles.member};
    `,
  },
]
