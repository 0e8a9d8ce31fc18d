/** An address with what is asked for there. That cannot change where it is. */
export function withTarget(url: URL, target: string): URL {
  if (!target.startsWith('/')) return url
  const query = target.indexOf('?')
  url.pathname = query < 0 ? target : target.slice(0, query)
  url.search = query < 0 ? '' : target.slice(query)
  return url
}
