"""Run migrations on the connection that the caller holds, inside its transaction."""

from alembic import context

from clusterbandits.service.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,
    render_as_batch=True,
)
context.run_migrations()
