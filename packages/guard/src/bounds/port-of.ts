const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'wss:': 443 }

/** The port that a URL leads to, also where it does not name one. */
export const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (DEFAULT_PORTS[protocol] ?? 80) : Number(port)
