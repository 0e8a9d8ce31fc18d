import path from 'node:path'

/** A path, or `path:line:column`, as short as it can be from the working directory. */
export function fromHere(site: string): string {
  const relative = path.relative(process.cwd(), site)
  return relative.startsWith('..') || relative.length > site.length ? site : relative
}
