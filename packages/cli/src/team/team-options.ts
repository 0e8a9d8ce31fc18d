/** Options of commands that talk to a team server. */
export const TEAM_OPTIONS = {
  '--project <org/project>': 'project on the server (default: RETAKE_PROJECT)',
  '--server <url>': 'address of the server (default: RETAKE_SERVER, or the last `retake login`)',
} as const
