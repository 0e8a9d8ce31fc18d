/** Which of the two builds this is. */
declare const __HOME__: 'live' | 'report'
