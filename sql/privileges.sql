-- The last file of every installation: nothing for PUBLIC. Who may call what is granted by sql/operator/roles.sql, or by
-- the owner.
revoke all on schema pgflow from public;
revoke all on all tables in schema pgflow from public;
revoke execute on all routines in schema pgflow from public;
