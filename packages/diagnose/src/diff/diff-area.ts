/**
 * What a difference is about. `messages`: what was said to and by models.
 * `tools`: calls of tools and processes, asked for and made, and what MCP servers offer. `requests`: all
 * else of an exchange. `output`: what was printed. `usage`: tokens and cost.
 */
export const DIFF_AREAS = ['messages', 'tools', 'requests', 'output', 'usage'] as const
export type DiffArea = (typeof DIFF_AREAS)[number]
